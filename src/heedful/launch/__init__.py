"""How a command or a training begins: its flags and overrides are composed, and a run is resumed or trained."""

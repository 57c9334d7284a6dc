"""Functions that turn data into matplotlib Figures, without pyplot's global state."""

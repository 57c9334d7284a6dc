"""Configuration: composition, validation, and which objects it may create."""

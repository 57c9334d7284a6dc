"""Composition and validation of the configuration, including the objects that it may create."""

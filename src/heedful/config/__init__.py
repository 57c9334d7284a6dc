"""Composition and validation of the configuration, including the classes of the objects that it creates."""

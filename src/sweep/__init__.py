"""Sweeps: many runs from one command, planned, checked, kept apart from one another, and resumed."""

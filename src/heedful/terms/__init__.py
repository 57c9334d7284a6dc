"""Scores as means of per-text terms, their intervals in closed form, and tests of differences."""

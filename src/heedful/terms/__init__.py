"""Scores as means of per-text terms, their intervals in closed form, and tests and claims about differences."""

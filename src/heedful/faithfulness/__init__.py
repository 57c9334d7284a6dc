"""Measure how faithfully attention weights and other rankings of tokens account for a prediction."""

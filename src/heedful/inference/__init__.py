"""Trained models in use: loaded, evaluated together, and asked for predictions."""

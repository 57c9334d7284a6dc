"""Predictions of trained models for texts, with the attention weight of each word."""

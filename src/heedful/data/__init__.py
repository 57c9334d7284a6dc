"""Texts and labels: read, divided, tokenized and batched."""

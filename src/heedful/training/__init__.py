"""The training of a model: its objects, its loop, and what watches it."""

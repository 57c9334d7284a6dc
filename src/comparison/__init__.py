"""Compare the variants of finished runs, with intervals and tests; imports neither a Trainer nor torch."""

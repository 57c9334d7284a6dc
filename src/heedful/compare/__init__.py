"""Compare finished runs with intervals and tests: `python -m src.compare outputs/train/multiruns/…`."""

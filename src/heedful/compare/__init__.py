"""Compare finished runs with intervals and tests: `heedful compare outputs/train/multiruns/…`."""

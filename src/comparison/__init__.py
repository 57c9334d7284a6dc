"""Compare the variants of finished runs, with intervals and tests; only added metrics import torch."""

"""Comparison of finished runs with intervals and tests; torch is imported only for added metrics."""

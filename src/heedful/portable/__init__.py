"""Models that are exported for use without Heedful and torch."""

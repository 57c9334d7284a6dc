"""The study: run its sweeps, release their records without the texts, and write the report."""

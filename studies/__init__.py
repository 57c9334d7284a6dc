"""The study: run sweeps, release the records without the texts, and write the report."""

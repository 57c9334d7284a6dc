"""Which variant is better, and how sure that is: finished runs in, tables and a page out. No Trainer, no torch."""

"""Measures of the faithfulness study that `src.faithfulness` does not contain: one script for each."""

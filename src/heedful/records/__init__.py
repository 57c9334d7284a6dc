"""Finished runs as frozen values, read from the files in their folders; torch is not imported."""

"""One run and what it leaves in its folder; each format of a file is read and written by one module."""

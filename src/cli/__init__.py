"""The command line: the entry point of every command, its overrides, and its help."""

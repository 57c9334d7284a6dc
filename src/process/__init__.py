"""The process of a command: its signals, standard streams and exit codes."""

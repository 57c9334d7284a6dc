"""The process of a command: its signals, standard streams, exit codes and imports."""

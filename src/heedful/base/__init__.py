"""What every other package may use: errors, files, formatting, processes and optional packages."""

"""Self-contained HTML pages: one file each, usable offline, in light and dark mode and on a phone."""

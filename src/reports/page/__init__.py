"""Self-contained HTML pages: each page is one file, usable offline, in light and dark mode and on a phone."""

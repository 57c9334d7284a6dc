"""One picture a file: data in, a matplotlib Figure out, no global state."""

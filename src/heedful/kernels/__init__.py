"""Fast layers, and the settings of the memory allocator."""

"""Memory: reuse of freed memory by malloc, and a limit on cached kernels."""

import ctypes
import os
import sys

M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3  # glibc's malloc.h
NEVER = 2**31 - 1  # bytes; the largest value that mallopt accepts
LARGE = 10**9  # bytes; tensors of typical models are smaller


def restart_without_cache() -> None:
    """Start this command again with a malloc that caches no small blocks, unless GLIBC_TUNABLES is set.

    To align a tensor, malloc cuts it out of a larger block. The cache hands the remainders to small objects, some of
    which stay. They split the memory that a step frees, so that later tensors do not fit and the heap grows. glibc
    reads this setting only at the start of a process.
    """
    if "CS_GNU_LIBC_VERSION" in getattr(os, "confstr_names", ()) and "GLIBC_TUNABLES" not in os.environ:
        os.environ["GLIBC_TUNABLES"] = "glibc.malloc.tcache_count=0"
        os.execv(sys.executable, [sys.executable, *sys.orig_argv[1:]])


def reuse_freed_memory() -> None:
    """Set malloc to reuse freed memory in later training steps instead of returning it to the system.

    The system allocates memory page by page and fills each page with zeros, which took a third of the time of a
    BiLSTM's training step. Reuse requires that there are few padded lengths (`Truncation.padded_length`). Call this
    function before torch allocates its first large tensor. The environment variables MALLOC_TRIM_THRESHOLD_ and
    MALLOC_MMAP_THRESHOLD_ take precedence.
    """
    if "MALLOC_TRIM_THRESHOLD_" in os.environ or "MALLOC_MMAP_THRESHOLD_" in os.environ:
        return
    set_option = getattr(ctypes.CDLL(None), "mallopt", None) if os.name == "posix" else None
    if set_option is not None:
        set_option(M_TRIM_THRESHOLD, NEVER)
        set_option(M_MMAP_THRESHOLD, LARGE)


def limit_compiled_kernels() -> None:
    """Limit the number of kernels that oneDNN caches from the first batch on, half a megabyte for each shape."""
    os.environ.setdefault("ONEDNN_PRIMITIVE_CACHE_CAPACITY", "128")

"""What becomes of memory that a training step has freed."""

import ctypes
import os

M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3  # glibc's malloc.h
ALL = 2**31 - 1  # bytes; as much as an option can hold


def keep_freed_memory() -> None:
    """Let the C library keep freed memory for the next step, instead of giving it back and asking for it again.

    The system hands memory out page by page and sets each to zero, which takes a third of a BiLSTM's step. Only glibc
    has the options; what the environment says of them (MALLOC_TRIM_THRESHOLD_, MALLOC_MMAP_THRESHOLD_) stands.
    """
    if "MALLOC_TRIM_THRESHOLD_" in os.environ or "MALLOC_MMAP_THRESHOLD_" in os.environ:
        return
    set_option = getattr(ctypes.CDLL(None), "mallopt", None) if os.name == "posix" else None
    if set_option is not None:
        set_option(M_TRIM_THRESHOLD, ALL)
        set_option(M_MMAP_THRESHOLD, ALL)

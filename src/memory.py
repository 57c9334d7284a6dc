"""What becomes of memory that a training step has freed."""

import ctypes
import os

M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3  # glibc's malloc.h
NEVER = 2**31 - 1  # bytes; as much as an option can hold
LARGE = 12 * 2**20  # bytes: at 16 MB a training of a BiLSTM takes 200 MB more


def keep_freed_memory() -> None:
    """Let freed memory serve the next step, instead of giving it back to the system and asking for it again.

    The system hands memory out page by page and sets each to zero, which took a third of a BiLSTM's step. Blocks below
    12 MB are kept. Larger ones, whose holes would never quite fit the next batch, are given back, but asked for in
    huge pages, where the system has them. Call it before torch's first large tensor. Only glibc has the options; what
    the environment says (MALLOC_TRIM_THRESHOLD_, MALLOC_MMAP_THRESHOLD_, THP_MEM_ALLOC_ENABLE) stands.
    """
    os.environ.setdefault("THP_MEM_ALLOC_ENABLE", "1")  # torch's own option
    if "MALLOC_TRIM_THRESHOLD_" in os.environ or "MALLOC_MMAP_THRESHOLD_" in os.environ:
        return
    set_option = getattr(ctypes.CDLL(None), "mallopt", None) if os.name == "posix" else None
    if set_option is not None:
        set_option(M_TRIM_THRESHOLD, NEVER)
        set_option(M_MMAP_THRESHOLD, LARGE)

"""The resident memory of this process, and the return of unused heap memory to the system."""

import ctypes
import os
from pathlib import Path

STATM = Path("/proc/self/statm")


def resident_bytes() -> int | None:
    """Return the bytes of this process that are in physical memory; None if the system does not report them."""
    try:
        pages = STATM.read_text(encoding="ascii").split()[1]
    except OSError:  # not on Linux
        return None
    return int(pages) * os.sysconf("SC_PAGE_SIZE")


def return_unused_memory() -> None:
    """Return the free blocks of malloc's heap to the system. Only glibc has this function; otherwise do nothing."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None) if os.name == "posix" else None
    if trim is not None:
        trim(0)

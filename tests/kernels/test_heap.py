"""Unused memory of the heap returns to the system."""

import platform
from pathlib import Path

import pytest

from src.kernels.heap import STATM, resident_bytes
from tests.forks import complete
from tests.helpers import command

BLOCK = 131_072 * 8  # bytes of each block below
COUNT = 199
GAPS = f"""
import ctypes
from src.kernels.heap import resident_bytes, return_unused_memory
from src.kernels.malloc import reuse_freed_memory
reuse_freed_memory()
libc = ctypes.CDLL(None)
libc.malloc.restype = ctypes.c_void_p
blocks = []
for _ in range({COUNT}):
    block = libc.malloc(ctypes.c_size_t({BLOCK}))
    ctypes.memset(block, 1, {BLOCK})
    blocks.append((block, libc.malloc(ctypes.c_size_t(64))))  # the small block stays and separates the gaps
full = resident_bytes()
for block, _ in blocks:
    libc.free(ctypes.c_void_p(block))
free = resident_bytes()
return_unused_memory()
print(full, free, resident_bytes())
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="other C libraries have no such function")
def test_gaps_between_blocks_return_to_the_system(tmp_path: Path) -> None:
    (python, *_), options = command(tmp_path, "train")
    process = complete([python, "-c", GAPS], options)
    assert process.returncode == 0, process.stderr
    full, free, returned = map(int, process.stdout.split())
    assert full - free < 0.1 * COUNT * BLOCK  # malloc keeps the freed blocks
    assert full - returned > 0.9 * COUNT * BLOCK


@pytest.mark.skipif(not STATM.exists(), reason="the system does not report resident memory")
def test_resident_memory_equals_that_of_the_status_file() -> None:
    """Linux updates its counters of memory in batches, so that two files may differ by some pages for each thread."""
    resident = resident_bytes()
    lines = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
    expected = next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmRSS:"))
    assert resident == pytest.approx(expected, rel=0.02)

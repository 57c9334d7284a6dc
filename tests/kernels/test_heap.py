"""Unused memory of the heap returns to the system."""

import platform
from pathlib import Path

import pytest

from src.kernels.heap import resident_bytes
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


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="the system does not report resident memory")
def test_resident_memory_grows_with_a_touched_block() -> None:
    before = resident_bytes()
    block = bytearray(b"\1" * 67_000_001)
    after = resident_bytes()
    assert before is not None and after is not None
    assert 60_000_000 < after - before < 150_000_000
    del block

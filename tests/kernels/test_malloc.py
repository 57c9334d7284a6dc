"""Freed memory that is kept for the next step."""

import ctypes
import os
import platform
from pathlib import Path
from types import SimpleNamespace

import pytest

from src.kernels import malloc as memory
from tests.forks import complete
from tests.helpers import command

PAGES = 2_000_000 * 4 // 4096  # of the tensor below
STEPS = """
import resource, torch
from src.kernels.malloc import reuse_freed_memory
reuse_freed_memory()
for _ in range(60):
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    torch.ones(2_000_000)
    print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


SHAPES = """
import os, torch
from src.kernels.malloc import limit_compiled_kernels
limit_compiled_kernels()
lstm = torch.nn.LSTM(7, 11, bidirectional=True).eval()
with torch.inference_mode():
    for length in range(1, 601):
        lstm(torch.ones(length, 3, 7))
        if length in (200, 600):
            pages = int(open("/proc/self/statm", encoding="ascii").read().split()[1])
            print(pages * os.sysconf("SC_PAGE_SIZE") / 1e6)
"""


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="the test reads resident memory from /proc")
def test_new_shapes_do_not_grow_memory(tmp_path: Path) -> None:
    """Without the limit, 400 new shapes take about 200 MB."""
    (python, *_), options = command(tmp_path, "train")
    process = complete([python, "-c", SHAPES], options)
    assert process.returncode == 0, process.stderr
    before, after = map(float, process.stdout.split())
    assert after - before < 50


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="other C libraries have no such option")
def test_after_some_steps_none_asks_the_system_for_memory(tmp_path: Path) -> None:
    (python, *_), options = command(tmp_path, "train")
    process = complete([python, "-c", STEPS], options)
    assert process.returncode == 0, process.stderr
    faults = [int(line) for line in process.stdout.split()]
    assert sum(faults[-20:]) < PAGES  # each of them has as many where memory is given back


@pytest.mark.parametrize("name", [None, "MALLOC_TRIM_THRESHOLD_", "MALLOC_MMAP_THRESHOLD_"])
def test_what_the_environment_says_stands(name: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    options = []
    library = SimpleNamespace(mallopt=lambda option, value: options.append(option))
    monkeypatch.setattr(ctypes, "CDLL", lambda _: library)
    for known in ("MALLOC_TRIM_THRESHOLD_", "MALLOC_MMAP_THRESHOLD_"):
        monkeypatch.delenv(known, raising=False)
    monkeypatch.setenv("THP_MEM_ALLOC_ENABLE", "0")
    if name is not None:
        monkeypatch.setenv(name, "1000")
    memory.reuse_freed_memory()
    assert bool(options) == (name is None)
    assert os.environ["THP_MEM_ALLOC_ENABLE"] == "0"


def test_a_library_without_the_option_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ctypes, "CDLL", lambda _: SimpleNamespace())
    memory.reuse_freed_memory()

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

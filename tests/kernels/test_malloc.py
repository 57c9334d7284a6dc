"""Reuse of freed memory, and the limit on cached kernels."""

import ctypes
import platform
import subprocess
from pathlib import Path
from types import SimpleNamespace

import pytest

from heedful.kernels import malloc
from tests.forks import complete
from tests.helpers import command

PAGES = 2_000_000 * 4 // 4096  # number of pages of the tensor in STEPS
STEPS = """
import resource, torch
from heedful.kernels.malloc import reuse_freed_memory
reuse_freed_memory()
for _ in range(60):
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    torch.ones(2_000_000)
    print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


OPTIONS = """
import os, sys
sys.argv[0] = "-m"  # as while `python -m src.train` imports the package
import heedful.commands
print(os.getpid(), os.environ["GLIBC_TUNABLES"])
"""


SHAPES = """
import os, torch
from heedful.kernels.malloc import limit_compiled_kernels
limit_compiled_kernels()
lstm = torch.nn.LSTM(7, 11, bidirectional=True).eval()
with torch.inference_mode():
    for length in range(1, 121):
        lstm(torch.ones(length, 3, 7))
        if length in (80, 120):
            pages = int(open("/proc/self/statm", encoding="ascii").read().split()[1])
            print(pages * os.sysconf("SC_PAGE_SIZE") / 1e6)
"""


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="the test reads resident memory from /proc")
def test_new_shapes_need_little_additional_memory(tmp_path: Path) -> None:
    """Without the limit, 40 new shapes need 25 MB."""
    (python, *_), options = command(tmp_path, "train")
    process = complete([python, "-c", SHAPES], options)
    assert process.returncode == 0, process.stderr
    before, after = map(float, process.stdout.split())
    assert after - before < 8


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="other C libraries have no such option")
def test_later_steps_reuse_freed_memory(tmp_path: Path) -> None:
    (python, *_), options = command(tmp_path, "train")
    process = complete([python, "-c", STEPS], options)
    assert process.returncode == 0, process.stderr
    faults = [int(line) for line in process.stdout.split()]
    assert sum(faults[-20:]) < PAGES  # without reuse, each step has this many page faults


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="other C libraries have no such option")
@pytest.mark.parametrize("value", [None, "glibc.malloc.check=0"])
def test_training_restarts_without_malloc_s_cache(tmp_path: Path, value: str | None) -> None:
    (python, *_), options = command(tmp_path, "train")
    environment = {name: text for name, text in options["env"].items() if name != "GLIBC_TUNABLES"}
    options["env"] = environment if value is None else {**environment, "GLIBC_TUNABLES": value}
    with subprocess.Popen([python, "-c", OPTIONS, "src.train"], stdout=subprocess.PIPE, **options) as process:
        output, _ = process.communicate()
    assert output.split() == [str(process.pid), value or "glibc.malloc.tcache_count=0"]


@pytest.mark.parametrize("name", [None, "MALLOC_TRIM_THRESHOLD_", "MALLOC_MMAP_THRESHOLD_"])
def test_environment_variables_take_precedence(name: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    options = []
    library = SimpleNamespace(mallopt=lambda option, value: options.append(option))
    monkeypatch.setattr(ctypes, "CDLL", lambda _: library)
    for variable in ("MALLOC_TRIM_THRESHOLD_", "MALLOC_MMAP_THRESHOLD_"):
        monkeypatch.delenv(variable, raising=False)
    if name is not None:
        monkeypatch.setenv(name, "1000")
    malloc.reuse_freed_memory()
    assert bool(options) == (name is None)

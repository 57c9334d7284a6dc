"""The memory fields of a process while it runs and after it has ended."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks import memory

pytestmark = pytest.mark.skipif(not memory.STATUS.exists(), reason="memory is read from /proc")


def test_a_running_process_has_memory() -> None:
    assert (memory.megabytes("VmRSS") or 0) > 1
    assert (memory.megabytes("VmHWM") or 0) >= (memory.megabytes("VmRSS") or 0) * 0.9


def test_a_process_that_ended_has_no_memory() -> None:
    process = subprocess.Popen([sys.executable, "-c", ""])
    status = Path(f"/proc/{process.pid}/status")
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)  # leaves the process in the process table
    assert status.exists()
    assert memory.megabytes("VmRSS", status) is None
    process.wait()
    assert not status.exists()
    assert memory.megabytes("VmRSS", status) is None

"""The process of a command: signals, streams that are closed or full, and the exit code and message of each error."""

import errno
import io
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from heedful.base.process import (
    Interrupted,
    exit_with_message,
    is_further_process,
    set_up_process,
    stopping_signals,
)
from tests.helpers import ROOT
from tests.helpers import command as base_command

HOOK = """
import os, sys

class SignalSender:
    def find_spec(self, name, *args):
        if name == os.environ["MODULE"] and sys.argv[0] != "-c":
            os.kill(os.getpid(), int(os.environ["SIGNUM"]))

sys.meta_path.insert(0, SignalSender())
"""


def command(folder: Path, name: str, *arguments: str) -> tuple[list[str], dict[str, Any]]:
    """Like tests.helpers.command, but with buffered output even if the tests run with PYTHONUNBUFFERED=1."""
    line, options = base_command(folder, name, *arguments)
    options["env"]["PYTHONUNBUFFERED"] = ""
    return line, options


@pytest.mark.parametrize(
    ("name", "arguments", "module", "signum"),
    [
        ("train", ("--help",), "omegaconf", signal.SIGINT),
        ("eval", ("ckpt_path=x",), "torch", signal.SIGTERM),
        ("predict", ("ckpt_path=x", "text=good"), "torch", signal.SIGHUP),
        ("compare", ("--help",), "argparse", signal.SIGTERM),
    ],
)
def test_a_signal_during_an_import_ends_the_command_at_once(name, arguments, module, signum, tmp_path) -> None:
    (tmp_path / "sitecustomize.py").write_text(HOOK)
    line, options = command(tmp_path, name, *arguments)
    options["env"] |= {"PYTHONPATH": f"{tmp_path}:{ROOT}", "MODULE": module, "SIGNUM": str(int(signum))}
    process = subprocess.run(line, **options, capture_output=True, check=False)
    assert (process.returncode, process.stdout, process.stderr) == (-signum, "", "")


@pytest.mark.parametrize(
    ("own", "spins"),
    [({}, "1000"), ({"GOMP_SPINCOUNT": "7"}, "7"), ({"OMP_WAIT_POLICY": "passive"}, None)],
)
def test_threads_that_wait_sleep_soon_unless_the_user_decides(own, spins, monkeypatch) -> None:
    monkeypatch.setattr(os, "environ", own)
    handler = signal.getsignal(signal.SIGINT)
    try:
        set_up_process()
    finally:
        signal.signal(signal.SIGINT, handler)
    assert own.get("GOMP_SPINCOUNT") == spins


def test_a_hangup_does_not_end_a_command_under_nohup(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text(HOOK)
    line, options = command(tmp_path, "train", "--cfg=job")
    options["env"] |= {"PYTHONPATH": f"{tmp_path}:{ROOT}", "MODULE": "hydra", "SIGNUM": str(int(signal.SIGHUP))}
    process = subprocess.run(["nohup", *line], **options, capture_output=True, check=False)
    assert process.returncode == 0, process.stderr
    assert "task_name: train" in process.stdout


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="this system has no /dev/full")
@pytest.mark.parametrize(
    ("unbuffered", "name", "arguments"),
    [("", "train", ("--cfg", "job")), ("1", "train", ("--cfg", "job")), ("", "compare", ("--help",))],
)
def test_a_full_disk_is_reported_for_standard_output(unbuffered, name, arguments, tmp_path) -> None:
    line, options = command(tmp_path, name, *arguments)
    options["env"] |= {"PYTHONUNBUFFERED": unbuffered}
    with open("/dev/full", "w") as full:
        process = subprocess.run(line, **options, stdout=full, stderr=subprocess.PIPE, check=False)
    message = "Error: standard output: No space left on device; correct this, or choose another path\n"
    assert (process.returncode, process.stderr) == (1, message)


@pytest.mark.parametrize("name", ["train", "compare"])
def test_a_closed_pipe_ends_the_command_without_a_message(name: str, tmp_path: Path) -> None:
    line, options = command(tmp_path, name, "--help")
    reading, writing = os.pipe()
    os.close(reading)
    process = subprocess.run(line, **options, stdout=writing, stderr=subprocess.PIPE, check=False)
    os.close(writing)
    assert (process.returncode, process.stderr) == (1, "")


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (OSError(errno.ENOSPC, "No space left on device"), "run: No space left on device; correct this, or"),
        (PermissionError(errno.EACCES, "Permission denied", "a.ckpt"), "a.ckpt: Permission denied; correct this, or"),
        (MemoryError(), "the memory of this machine or GPU is not sufficient: choose a smaller batch_size"),
        (RuntimeError("DefaultCPUAllocator: can't allocate memory"), "the memory of this machine"),
        (RuntimeError("[gloo/pair.cc:537] Read error: Connection reset by peer"), "another process of this run has"),
        (ModuleNotFoundError("DeviceStatsMonitor needs psutil"), "DeviceStatsMonitor needs psutil"),
    ],
)
def test_an_error_of_the_system_is_reported_with_its_path(error: Exception, message: str) -> None:
    with pytest.raises(SystemExit) as exit_info, exit_with_message("run"):
        raise error
    assert str(exit_info.value).startswith(f"Error: {message}")


@pytest.mark.parametrize(
    "error",
    [
        FileNotFoundError(errno.ENOENT, "no such file", "a"),
        OSError("timed out"),
        RuntimeError("gloo: no shape"),
        ModuleNotFoundError("No module named 'heedful.other'", name="heedful.other"),
    ],
)
def test_other_errors_keep_their_traceback(error: Exception) -> None:
    with pytest.raises(type(error)), exit_with_message("run"):
        raise error


def test_signals_are_handled_only_in_the_main_thread() -> None:
    found = [stopping_signals()]
    thread = threading.Thread(target=lambda: found.append(stopping_signals()))
    thread.start()
    thread.join()
    assert found[0] and found[1] == ()


def test_an_interrupted_run_exits_with_the_number_of_its_signal_without_a_message() -> None:
    with pytest.raises(SystemExit) as exit_info, exit_with_message("run"):
        raise Interrupted(signal.SIGTERM)
    assert exit_info.value.code == 128 + signal.SIGTERM


@pytest.mark.parametrize(("rank", "expected"), [(None, False), ("0", False), ("1", True)])
def test_the_main_process_is_no_further_one_if_torchrun_started_it(rank, expected, monkeypatch) -> None:
    monkeypatch.delenv("LOCAL_RANK", raising=False)
    if rank is not None:
        monkeypatch.setenv("LOCAL_RANK", rank)
    assert is_further_process() == expected


def test_characters_that_the_terminal_lacks_are_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    written = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(written, "cp1252", write_through=True))
    monkeypatch.setattr(signal, "signal", lambda *_: None)
    monkeypatch.setenv("GOMP_SPINCOUNT", "1000")
    set_up_process()
    print("“★★” café")
    assert written.getvalue().decode("cp1252") == "“??” café\n"

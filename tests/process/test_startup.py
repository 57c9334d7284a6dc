"""The start of a command: signals during its imports, and standard streams that are closed or full."""

import os
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest

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
        ("train", (), "src.train", signal.SIGINT),
        ("train", ("--help",), "omegaconf", signal.SIGINT),
        ("train", ("--cfg=job",), "hydra.core.config_store", signal.SIGTERM),
        ("train", ("logger=none",), "pytorch_lightning", signal.SIGINT),
        ("eval", ("ckpt_path=x",), "src.run", signal.SIGTERM),
        ("predict", ("ckpt_path=x", "text=good"), "torch", signal.SIGHUP),
        ("compare", (".",), "numpy", signal.SIGINT),
        ("compare", ("--help",), "argparse", signal.SIGTERM),
        ("dashboard", (), "src.extras", signal.SIGINT),
    ],
)
def test_a_signal_during_an_import_ends_the_command_with_one_line(
    name: str, arguments: tuple[str, ...], module: str, signum: signal.Signals, tmp_path: Path
) -> None:
    (tmp_path / "sitecustomize.py").write_text(HOOK)
    line, options = command(tmp_path, name, *arguments)
    options["env"] |= {"PYTHONPATH": f"{tmp_path}:{ROOT}", "MODULE": module, "SIGNUM": str(int(signum))}
    process = subprocess.run(line, **options, capture_output=True, check=False)
    assert (process.returncode, process.stdout) == (128 + signum, ""), process.stderr
    assert process.stderr == f"\nStopped by {signum.name}\n"


def test_a_hangup_does_not_end_a_command_under_nohup(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text(HOOK)
    line, options = command(tmp_path, "train", "--cfg=job")
    options["env"] |= {"PYTHONPATH": f"{tmp_path}:{ROOT}", "MODULE": "hydra", "SIGNUM": str(int(signal.SIGHUP))}
    process = subprocess.run(["nohup", *line], **options, capture_output=True, check=False)
    assert process.returncode == 0, process.stderr
    assert "task_name: train" in process.stdout


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_output_to_a_closed_stream_is_not_written_to_a_file(closed: str, tmp_path: Path) -> None:
    """Without a replacement of the closed stream, the first file that is opened would get its file descriptor."""
    code = (
        "import os, sys; sys.argv = ['-m']; import src; os.write(1, b'out'); os.write(2, b'err');"
        "file = open('file', 'w'); assert file.fileno() > 2; print('x'); print('y', file=sys.stderr); sys.stdin.read()"
    )
    line, options = command(tmp_path, "train")
    shell = ["sh", "-c", f'"$@" {closed}', "sh", line[0], "-c", code]
    process = subprocess.run(shell, **options, stdin=subprocess.DEVNULL, capture_output=True, check=False)
    assert process.returncode == 0, process.stderr
    assert (tmp_path / "file").read_text() == ""


@pytest.mark.parametrize(
    ("name", "arguments", "redirection", "code", "message"),
    [
        ("predict", "ckpt_path=x text=good", ">&-", 1, "Error: standard output is closed, so no prediction can be pr"),
        ("predict", "ckpt_path=x", "<&-", 1, "Error: nothing to classify: write text="),
        ("train", "--cfg job", ">/dev/full", 1, "Error: the disk is full, so standard output could not be written"),
        ("compare", "--help", ">/dev/full", 1, "Error: the disk is full, so standard output could not be written"),
        ("train", "--help", ">&-", 0, ""),
    ],
)
def test_a_closed_or_full_stream_is_reported_in_one_message(
    name: str, arguments: str, redirection: str, code: int, message: str, tmp_path: Path
) -> None:
    if "/dev/full" in redirection and not os.path.exists("/dev/full"):
        pytest.skip("this system has no /dev/full")
    line, options = command(tmp_path, name, *arguments.split())
    shell = ["sh", "-c", f'"$@" {redirection}', "sh", *line]
    process = subprocess.run(shell, **options, stdin=subprocess.DEVNULL, capture_output=True, check=False)
    assert (process.returncode, process.stdout) == (code, ""), process.stderr
    assert process.stderr.startswith(message)
    assert len(process.stderr.splitlines()) == bool(message)


@pytest.mark.parametrize("name", ["compare", "dashboard"])
def test_a_closed_pipe_ends_the_command_without_a_message(name: str, tmp_path: Path) -> None:
    line, options = command(tmp_path, name, "--help")
    reading, writing = os.pipe()
    os.close(reading)
    process = subprocess.run(line, **options, stdout=writing, stderr=subprocess.PIPE, check=False)
    os.close(writing)
    assert (process.returncode, process.stderr) == (1, "")


def test_characters_that_the_output_encoding_lacks_are_escaped(tmp_path: Path) -> None:
    code = "import sys; sys.argv = ['-m']; import src; print('ça 映画')"
    line, options = command(tmp_path, "train")
    options["env"]["PYTHONIOENCODING"] = "latin-1:strict"
    process = subprocess.run(
        [line[0], "-c", code], **options | {"encoding": "latin-1"}, capture_output=True, check=False
    )
    assert (process.stdout, process.stderr) == ("ça \\u6620\\u753b\n", "")


def test_a_deleted_working_folder_is_reported_in_one_message(tmp_path: Path) -> None:
    line, options = command(tmp_path, "train", "seed=1")
    (tmp_path / "gone").mkdir()
    shell = ["sh", "-c", 'cd gone && rmdir ../gone && exec "$@"', "sh", *line]
    process = subprocess.run(shell, **options, capture_output=True, check=False)
    assert process.returncode == 1
    assert "Error: the working folder was deleted" in process.stderr.splitlines()[-1]
    assert "Traceback" not in process.stderr

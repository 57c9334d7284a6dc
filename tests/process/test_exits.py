"""Errors of the environment end in one message; errors that may be defects of the program keep the traceback."""

import errno
import logging.config
import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from src.process.exits import CAUSES, exit_with_message


@pytest.mark.parametrize("number", CAUSES, ids=errno.errorcode.get)
def test_an_error_of_the_environment_is_reported_with_its_path(number: int) -> None:
    with pytest.raises(SystemExit) as exit_info, exit_with_message("run"):
        raise OSError(number, os.strerror(number), "a.ckpt")
    message = str(exit_info.value)
    assert message.startswith("Error: ")
    assert "a.ckpt" in message or number == errno.ENOMEM
    assert "\n" not in message


def test_other_errors_keep_their_traceback() -> None:
    missing = FileNotFoundError(errno.ENOENT, "no such file")
    for error in (missing, OSError(errno.ENOENT, "no such file", "a"), OSError("timed out"), ValueError("no number")):
        with pytest.raises(type(error)), exit_with_message("run"):
            raise error


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="this system has no /dev/full")
@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_full_disk_is_reported_for_standard_output(unbuffered: str) -> None:
    code = "from src.process.exits import exit_with_message\nwith exit_with_message('run'): print('text')"
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2]), "PYTHONUNBUFFERED": unbuffered}
    with open("/dev/full", "w") as full:
        process = subprocess.run(
            [sys.executable, "-c", code], env=environment, stdout=full, stderr=subprocess.PIPE, text=True, check=False
        )
    assert process.stderr.startswith("Error: the disk is full, so standard output could not be written")


def test_a_file_larger_than_allowed_is_reported(tmp_path: Path) -> None:
    code = "from src.process.exits import exit_with_message\n"
    code += "with exit_with_message('run'), open('big', 'wb') as file: file.write(bytes(7919))"
    process = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (1009, 1009)),
        capture_output=True,
        text=True,
        check=False,
    )
    assert process.returncode == 1
    assert process.stderr.startswith("Error: run: the file is larger than allowed; raise the limit")
    assert len(process.stderr.splitlines()) == 1


def test_a_folder_at_the_path_of_the_log_file_is_reported(tmp_path: Path) -> None:
    (tmp_path / "train.log").mkdir()
    handler = {"class": "logging.FileHandler", "filename": str(tmp_path / "train.log")}
    with pytest.raises(SystemExit, match=r"train\.log: a folder exists where a file is"), exit_with_message("run"):
        logging.config.dictConfig({"version": 1, "handlers": {"file": handler}, "incremental": False})


def test_a_removed_folder_is_reported(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    with pytest.raises(SystemExit, match="was removed while it was in use"), exit_with_message(str(folder)):
        (folder / "result.json").write_text("{}")


def test_ctrl_c_exits_with_status_130(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as exit_info, exit_with_message("run"):
        raise KeyboardInterrupt
    assert exit_info.value.code == 130
    assert capsys.readouterr().err == "\nStopped by SIGINT\n"

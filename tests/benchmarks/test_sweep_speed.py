"""`python -m benchmarks.sweep_speed`: each setting has its turns, with its own number of runs at once."""

import json
import os
from pathlib import Path

import pytest

from benchmarks import command, sweep_speed
from heedful.base.errors import UserError


@pytest.fixture
def sweeps(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str | None]]:
    """The number of runs at once of each sweep, in place of the sweep, and the folder of MPS."""
    found: list[tuple[str, str | None]] = []

    def train(*arguments: str) -> None:
        found.extend(
            (argument.partition("=")[2], os.environ.get("CUDA_MPS_PIPE_DIRECTORY"))
            for argument in arguments
            if argument.startswith("hydra.launcher.n_jobs")
        )

    monkeypatch.setattr(command, "train", train)
    monkeypatch.delenv("CUDA_MPS_PIPE_DIRECTORY", raising=False)
    return found


def test_settings_take_turns(sweeps: list[tuple[str, str | None]], tmp_path: Path) -> None:
    sweep_speed.main(tmp_path, ["--quick", "--jobs=2,3", "--repeats=2", f"--out={tmp_path}"])
    assert sweeps == [("2", None), ("3", None)] * 2
    seconds = json.loads((tmp_path / "sweep_speed.json").read_text())["seconds"]
    assert {name: len(each) for name, each in seconds.items()} == {"MPS off, 2 at once": 2, "MPS off, 3 at once": 2}


def test_the_daemon_runs_during_its_sweeps_only(sweeps: list[tuple[str, str | None]], tmp_path, monkeypatch) -> None:
    control, calls = tmp_path / sweep_speed.CONTROL, tmp_path / "calls"
    control.write_text(f'#!/bin/sh\necho "start $1" >> "{calls}"\n[ "$1" ] || cat >> "{calls}"\n')
    control.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    sweep_speed.main(tmp_path, ["--quick", "--jobs=5", "--mps=on,off", f"--out={tmp_path}"])
    assert sweeps == [("5", str(tmp_path / "mps")), ("5", None)]
    assert calls.read_text().split("\n") == ["start -d", "start ", "quit", ""]


def test_a_missing_daemon_is_named_before_the_first_sweep(sweeps, tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(sweep_speed, "CONTROL", "no-such-command")
    with pytest.raises(UserError, match="no-such-command is not installed: use --mps=off"):
        sweep_speed.main(tmp_path, ["--quick", "--mps=off,on", f"--out={tmp_path}"])
    assert not sweeps

"""The information about the process that a run records."""

import sys
from pathlib import Path

import pytest
import torch

from heedful.runs import environment


def test_the_command_can_be_pasted_into_a_shell(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["/a/src/train.py", "seed=1", "data.path=my file.csv"])
    assert environment.command_line() == "heedful train seed=1 'data.path=my file.csv'"


def test_versions_device_and_peak_memory() -> None:
    versions = environment.versions()
    assert versions["torch"] == torch.__version__ and versions["python"].startswith("3.")
    assert environment.device_name(torch.device("cpu"))
    process = environment.peak_memory().process
    assert process is not None and 50 < process < 100_000  # MB; torch alone takes more than 50


def test_without_git_there_is_no_commit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert environment.git_commit() is None

"""The information about the process that a run records."""

import subprocess
import sys
from pathlib import Path

import pytest
import torch

import heedful
from heedful.runs import environment
from heedful.runs.environment import Launch


def test_the_command_can_be_pasted_into_a_shell(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["/a/src/train.py", "seed=1", "data.path=my file.csv"])
    assert environment.command_line() == "heedful train seed=1 'data.path=my file.csv'"


def test_versions_device_and_peak_memory() -> None:
    versions = environment.versions()
    assert versions["heedful"] == heedful.__version__
    assert torch.__version__.startswith(versions["torch"]) and versions["python"].startswith("3.")
    assert environment.device_name(torch.device("cpu"))
    process = environment.peak_memory().process
    assert process is not None and 50 < process < 100_000  # MB; torch alone takes more than 50


def test_without_git_there_is_no_commit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert environment.git_commit() is None


@pytest.mark.parametrize(
    ("place", "installed", "is_own"),
    [
        ("src/heedful", False, True),
        ("src/heedful", True, False),
        (".venv/site-packages/heedful", True, False),
        ("vendor/heedful/src/heedful", False, False),  # unpacked in someone's repository
    ],
)
def test_the_commit_is_that_of_heedfuls_own_repository(place, installed, is_own, tmp_path, monkeypatch) -> None:
    package = tmp_path / place
    package.mkdir(parents=True)
    monkeypatch.setattr(environment, "PACKAGE", package)
    monkeypatch.setattr(environment, "IS_INSTALLED", installed)
    git = ["git", "-C", str(tmp_path), "-c", "user.name=A", "-c", "user.email=a@b.c"]
    subprocess.run([*git, "init", "--quiet"], check=True)
    assert environment.git_commit() is None  # there is no commit yet
    subprocess.run([*git, "commit", "--quiet", "--allow-empty", "--message=One"], check=True)
    commit = subprocess.run([*git, "rev-parse", "HEAD"], capture_output=True, text=True, check=True).stdout.strip()
    assert environment.git_commit() == (commit if is_own else None)


@pytest.mark.parametrize(("branch", "expected"), [({}, "none"), ({"max_order": 2}, "ngrams")])
def test_a_branch_that_the_command_line_removes_is_no_choice(branch: dict[str, int], expected: str) -> None:
    launch = Launch(by_group={"model/branch": "ngrams", "data": "csv", "tags": None, "hydra/launcher": "basic"})
    assert launch.choices({"model": {"branch": branch}}) == {"branch": expected, "data": "csv"}

"""Sweeps of tiny jobs on the bundled CSV, and what is left of them."""

import json
import subprocess
from pathlib import Path
from typing import Any

from tests.helpers import command

SMALL = ("model.encoder.hidden_dim=6", "callbacks=checkpoints", "logger=csv")


def started(folder: Path, *arguments: str) -> "subprocess.Popen[str]":
    """`python -m tests.sweep.quick` in `folder`."""
    line, options = command(folder, "train", *arguments)
    line[2] = "tests.sweep.quick"
    return subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **options)


def swept(folder: Path, *arguments: str) -> tuple[int, str]:
    """Exit code and output of a sweep."""
    process = started(folder, *arguments)
    said, _ = process.communicate()
    assert "Traceback" not in said, said
    return process.returncode, said


def results(sweep: Path) -> dict[str, dict[str, Any]]:
    """The record of each job, by its folder's name."""
    return {path.parent.name: json.loads(path.read_text()) for path in sorted(sweep.glob("*/result.json"))}


def jobs_of(process: "subprocess.Popen[str]") -> list[int]:
    """The processes of the jobs that a sweep of the basic launcher is running."""
    try:
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text()
    except FileNotFoundError:
        return []
    return [int(pid) for pid in children.split()]

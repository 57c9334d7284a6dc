"""Run sweeps of small jobs on the bundled CSV, and read their results."""

import json
from pathlib import Path
from typing import Any

from tests.forks import Fork
from tests.helpers import command

SMALL = ("model.encoder.hidden_dim=6", "callbacks=checkpoints", "logger=csv")


def start_sweep(folder: Path, *arguments: str) -> Fork:
    """Start `python -m src.train` in `folder`."""
    return Fork(*command(folder, "train", *arguments), merge=True)


def run_sweep(folder: Path, *arguments: str) -> tuple[int, str]:
    """Run a sweep in `folder`, and return its exit code and output."""
    process = start_sweep(folder, *arguments)
    output, _ = process.communicate()
    assert "Traceback" not in output, output
    return process.returncode, output


def read_results(sweep: Path) -> dict[str, dict[str, Any]]:
    """Return the record of each job by the name of its folder."""
    return {path.parent.name: json.loads(path.read_text()) for path in sorted(sweep.glob("*/result.json"))}


def find_job_processes(process: Fork) -> list[int]:
    """Return the ids of the processes that run the jobs of a sweep with the basic launcher."""
    try:
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text()
    except FileNotFoundError:
        return []
    return [int(pid) for pid in children.split()]

"""Run sweeps of small jobs on the bundled CSV, and read their results."""

import json
import os
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from heedful.runs.result import RunResult
from heedful.runs.sweep_record import Sweep
from tests.forks import Fork
from tests.helpers import command

SMALL = ("model.encoder.hidden_dim=6", "callbacks=checkpoints", "logger=csv")


def start_sweep(folder: Path, *arguments: str) -> Fork:
    """Start `python -m src.train` in `folder`."""
    return Fork(*command(folder, "train", *arguments), merge=True)


def run_sweep(folder: Path, *arguments: str, code: int = 0) -> str:
    """Run a sweep in `folder`, which must end with this exit code, and return its output."""
    process = start_sweep(folder, *arguments)
    output, _ = process.communicate()
    assert "Traceback" not in output and (process.returncode or 0) == code, output
    return output


def read_results(sweep: Path) -> dict[str, dict[str, Any]]:
    """Return the record of each job by the name of its folder."""
    return {path.parent.name: json.loads(path.read_text()) for path in sorted(sweep.glob("*/result.json"))}


def read_statuses(sweep: Path) -> list[str]:
    """Return the status of each job."""
    return [RunResult.load(sweep / job.folder).status for job in Sweep.read(sweep).jobs]


def find_descendants(pid: int) -> set[int]:
    """Return the ids of the processes that a process and its descendants started."""
    with suppress(FileNotFoundError):  # the process has ended
        tasks = Path(f"/proc/{pid}/task").glob("*/children")
        children = {int(child) for task in tasks for child in task.read_text().split()}
        return children.union(*map(find_descendants, children))
    return set()


def find_job(pid: int) -> int | None:
    """Return the id of a process that runs a job of the sweep `pid`: the leader of a process group of its own."""
    with suppress(ProcessLookupError):
        return next((child for child in find_descendants(pid) if os.getpgid(child) == child), None)
    return None


def wait_for_end(pids: set[int]) -> None:
    """Wait until all processes have ended."""
    for pid in pids:
        with suppress(OSError):
            while " Z " not in Path(f"/proc/{pid}/stat").read_text():
                time.sleep(0.05)

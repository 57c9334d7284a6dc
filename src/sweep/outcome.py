"""How a job stands, read from its folder alone: whichever machine ran it, and whatever became of the sweep."""

import fcntl
import json
import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from src.errors import UserError
from src.files.record import FILE, read_record

log = logging.getLogger(__name__)
DONE = ("completed", "pruned")  # never run again


class Outcome(NamedTuple):
    """How a job stands.

    Args:
        status: completed, pruned, failed, interrupted, running, or pending where it has not begun or left nothing.
        error: why it failed or stopped.
        accuracy: on the test split, or on validation's where nothing was tested.
        seconds: that it took, from its last start.
        score: of the selected checkpoint, by the metric that it was selected with.
    """

    status: str
    error: str | None = None
    accuracy: float | None = None
    seconds: float | None = None
    score: float | None = None


def read_outcome(folder: Path) -> Outcome:
    """How the job of a folder stands."""
    found = recorded(folder)
    if found.status in DONE or not folder.is_dir():
        return found
    with claimed(folder) as free:
        return found if free else found._replace(status="running", error=None)


def recorded(folder: Path) -> Outcome:
    """What the record of the folder's last run says."""
    record = read(folder)
    metrics = record.get("metrics", {})
    accuracy = metrics.get("test/acc") or metrics.get("val/acc") or {}
    return Outcome(
        record.get("status", "pending"),
        record.get("error"),
        accuracy.get("value"),
        record.get("seconds", {}).get("total"),
        record.get("best", {}).get("value"),
    )


def read(folder: Path) -> dict[str, Any]:
    """The record of a run; empty if there is none, or it cannot be read."""
    try:
        return read_record(folder) or {}
    except UserError as error:
        log.warning("%s. It counts as none", error)
        return {}


def settle(folder: Path, code: int, error: str, overrides: list[str]) -> None:
    """Make sure that the record says how the job ended, even where its process could not.

    Args:
        folder: of the job.
        code: its process's exit code.
        error: what to say if the record gives no reason.
        overrides: of the job, for a record that is written here.
    """
    record = read(folder)
    ended, reason = record.get("status"), record.get("error")
    if (ended == "completed" and code == 0) or ended in ("interrupted", "pruned") or (ended == "failed" and reason):
        return
    record = {"format": 1, "overrides": overrides, **record, "status": "failed", "error": error}
    folder.mkdir(parents=True, exist_ok=True)
    (folder / FILE).write_text(json.dumps(record, indent=2), encoding="utf-8")


@contextmanager
def claimed(folder: Path, patience: float = 0.0) -> Iterator[bool]:
    """Whether the folder was free; while the block lasts, no other process gets it.

    A forked child holds it on if its parent dies.

    Args:
        folder: of a job.
        patience: seconds to wait for it.
    """
    path = folder / ".hydra" / "lock"
    path.parent.mkdir(parents=True, exist_ok=True)
    until = time.monotonic() + patience
    with path.open("w") as file:
        while True:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if time.monotonic() > until:
                    yield False
                    return
                time.sleep(0.05)
            else:
                yield True
                return

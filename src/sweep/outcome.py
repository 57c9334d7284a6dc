"""The outcome of a job, recorded in the job's folder, where any machine can read it without the sweep's process."""

import logging
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from src.errors import UserError
from src.files import lock_folder
from src.process import STOP_SIGNALS
from src.run_result import RunResult

STOPPED_CODES = {code for signum in STOP_SIGNALS for code in (-signum, 128 + signum)}
log = logging.getLogger(__name__)
DONE = ("completed", "pruned")  # statuses of jobs that are never run again


class Outcome(NamedTuple):
    """The state of a job.

    Args:
        status: completed, pruned, failed, interrupted, running, or pending (not started, or without a record).
        error: reason for a failure, an interruption or a pruning.
        accuracy: accuracy on the test split, or on the validation split if there was no test.
        seconds: duration of the job from its last start or resumption.
        score: the selected checkpoint's value of the monitored metric.
    """

    status: str
    error: str | None = None
    accuracy: float | None = None
    seconds: float | None = None
    score: float | None = None


def read_outcome(folder: Path) -> Outcome:
    """Return the state of the job in a folder, including whether it is running."""
    outcome = read_recorded_outcome(folder)
    if outcome.status in DONE or not folder.is_dir():
        return outcome
    with lock_folder(folder) as acquired:
        return outcome if acquired else outcome._replace(status="running", error=None)


def read_recorded_outcome(folder: Path) -> Outcome:
    """Return the outcome recorded in a folder, even if a job is running there and will replace it."""
    result = load_or_warn(folder)
    accuracy = result.score("test/acc" if "test/acc" in result.metrics else "val/acc")
    return Outcome(result.status, result.error, accuracy, result.seconds.total, result.best.value)


def load_or_warn(folder: Path) -> RunResult:
    """Return the record of a run; if it cannot be read, log a warning and return an empty record."""
    try:
        return RunResult.load(folder)
    except UserError as error:
        log.warning("%s. The record is ignored", error)
        return RunResult()


def ensure_outcome(folder: Path, code: int, error: str, overrides: list[str]) -> None:
    """Record a failure or an interruption if the job's process ended without recording its own outcome.

    A recorded completion counts only if the exit code is 0.

    Args:
        code: exit code of the job's process.
        error: the reason to record.
        overrides: the job's overrides, for a record that has none.
    """
    result = load_or_warn(folder)
    if (
        (result.status == "completed" and code == 0)
        or result.status in ("interrupted", "pruned")
        or (result.status == "failed" and result.error)
    ):
        return
    status = "interrupted" if code in STOPPED_CODES else "failed"
    folder.mkdir(parents=True, exist_ok=True)
    result = replace(result, overrides=result.overrides or tuple(overrides), status=status, error=error)
    result.save(folder)

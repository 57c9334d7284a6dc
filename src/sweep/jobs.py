"""The jobs of a sweep, their outcomes, and the file `sweep.json` that records both."""

import logging
import os
import shlex
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from pathlib import Path, PurePath
from typing import NamedTuple

from pydantic import BaseModel, Field

from src.config.keys import key_of
from src.config.quoting import quote
from src.errors import UserError
from src.files import lock_folder, read_json, write_json
from src.formatting import format_now
from src.process import STOP_SIGNALS, announce
from src.run_result import RunResult

FILE = "sweep.json"
DONE = ("completed", "pruned")  # statuses of jobs that are never run again
SWEEP_OPTIONS = ("hydra.", "hydra/", "sweep.")  # options that may change when a sweep is resumed
STOPPED_CODES = {code for signum in STOP_SIGNALS for code in (-signum, 128 + signum)}
log = logging.getLogger(__name__)


class Outcome(NamedTuple):
    """The state of a job.

    Args:
        status: completed, pruned, failed, interrupted, running, or pending (not started, or without a record).
        error: reason for a failure, an interruption or a pruning.
        accuracy: accuracy on the test split, or on the validation split if there was no test.
        seconds: duration of the job from its last start or resumption.
        score: the selected checkpoint's value of the monitored metric.
    """

    status: str = "pending"
    error: str | None = None
    accuracy: float | None = None
    seconds: float | None = None
    score: float | None = None


class Job(BaseModel):
    """One run of a sweep.

    Args:
        number: position in the sweep, from 0.
        folder: output folder, relative to the sweep's folder.
        status, error, accuracy, seconds, score: the outcome when the sweep ended.
    """

    number: int
    overrides: list[str]
    folder: str
    status: str = "pending"
    error: str | None = None
    accuracy: float | None = None
    seconds: float | None = None
    score: float | None = None

    def describe(self, shared: Collection[str]) -> str:
        """Return the overrides of the job as on a command line, except overrides that all jobs share."""
        return shlex.join(varying_overrides(self.overrides, shared))


class Sweep(BaseModel):
    """A sweep, as recorded in `sweep.json`.

    Args:
        format: version of the format of the file.
        started, finished: times in ISO format, UTC.
        arguments: the command line that started the sweep, including flags.
        jobs: all jobs; in a search, the jobs that have been sampled so far.
    """

    format: int = 1
    started: str = Field(default_factory=format_now)
    finished: str | None = None
    arguments: list[str]
    jobs: list[Job] = []

    @classmethod
    def read(cls, folder: Path) -> "Sweep":
        """Read the sweep in a folder.

        Raises:
            UserError: if the folder contains no sweep, or its file cannot be read.
        """
        path = folder / FILE
        if not path.is_file():
            raise UserError(f"{folder} is not the folder of a sweep: it has no {FILE}; sweeps are in …/multiruns/")
        try:
            return read_json(path, cls)
        except (OSError, ValueError) as error:
            raise UserError(f"{path} cannot be read ({error}): start the sweep anew") from error

    def write(self, folder: Path) -> None:
        write_json(folder / FILE, self)

    def pending(self, folder: Path) -> list[Job]:
        """Return the jobs that are neither completed nor pruned.

        Raises:
            UserError: if the folder of such a job is a link or outside the sweep's folder.
        """
        for job in self.jobs:
            path = folder / job.folder
            if path.resolve() != folder.resolve() / job.folder or PurePath(job.folder).is_absolute():
                raise UserError(f"{path} is a link or outside the sweep's folder: remove it, and the job starts anew")
        return [job for job in self.jobs if read_outcome(folder / job.folder).status not in DONE]

    def finish(self, folder: Path) -> None:
        """Record the outcome of each job, and the time."""
        self.jobs = [job.model_copy(update=read_outcome(folder / job.folder)._asdict()) for job in self.jobs]
        self.finished = format_now()
        self.write(folder)


def shared_overrides(jobs: Sequence[Sequence[str]]) -> frozenset[str]:
    """Return the overrides that all jobs share.

    For a single job, these are only the overrides whose values are absolute paths, so that the name of its folder
    contains all others.
    """
    if len(jobs) > 1:
        return frozenset(jobs[0]).intersection(*jobs)
    values = {override: override.partition("=")[2].strip("'\"") for override in jobs[0]}
    return frozenset(override for override, value in values.items() if PurePath(value).is_absolute())


def varying_overrides(overrides: Iterable[str], shared: Collection[str]) -> list[str]:
    """Return the overrides of a job, except overrides that all jobs share."""
    return [override for override in overrides if override not in shared]


def read_outcome(folder: Path) -> Outcome:
    """Return the state of the job in a folder, including whether it is running."""
    outcome = recorded_outcome(folder)
    if outcome.status in DONE or not folder.is_dir():
        return outcome
    with lock_folder(folder) as acquired:
        return outcome if acquired else outcome._replace(status="running", error=None)


def recorded_outcome(folder: Path) -> Outcome:
    """Return the outcome recorded in a folder, even if a job is running there and will replace it."""
    result = _load_or_warn(folder)
    accuracy = result.score("test/acc" if "test/acc" in result.metrics else "val/acc")
    return Outcome(result.status, result.error, accuracy, result.seconds.total, result.best.value)


def ensure_outcome(folder: Path, code: int, error: str, overrides: list[str]) -> None:
    """Record a failure or an interruption if the job's process ended without recording its own outcome.

    A recorded completion counts only if the exit code is 0.

    Args:
        code: exit code of the job's process.
        error: the reason to record.
        overrides: the job's overrides, for a record that has none.
    """
    result = _load_or_warn(folder)
    if (
        (result.status == "completed" and code == 0)
        or result.status in ("interrupted", "pruned")
        or (result.status == "failed" and result.error)
    ):
        return
    status = "interrupted" if code in STOPPED_CODES else "failed"
    replace(result, overrides=result.overrides or tuple(overrides), status=status, error=error).save(folder)


def restore_arguments(typed: Sequence[str]) -> list[str]:
    """Return the command line of the sweep whose folder `sweep.resume=<folder>` names, with the typed arguments added.

    A typed override replaces the recorded override with the same key; a typed launcher also replaces the recorded
    options of the launcher. Without `sweep.resume`, return the typed arguments.

    Raises:
        UserError: if the folder contains no sweep, or a typed override is an option of the jobs.
    """
    lines = {key_of(line): line for line in typed if not line.startswith("-")}
    if "sweep.resume" not in lines:
        return list(typed)
    text = lines.pop("sweep.resume").partition("=")[2].strip("'\" ")
    if text in ("", "null"):
        raise UserError("sweep.resume= is empty: name the folder of a sweep, such as outputs/train/multiruns/<time>")
    folder = Path(text).expanduser().absolute()
    recorded = Sweep.read(folder).arguments
    if folder.stat().st_uid != os.getuid():
        announce(f"{folder} belongs to another user: resuming runs the code that its configuration names")
    if other := [line for key, line in lines.items() if not key.startswith(SWEEP_OPTIONS) and line not in recorded]:
        raise UserError(f"sweep.resume takes all overrides from the sweep: remove {' '.join(other)}")
    replaced = ("sweep.", "hydra.sweep.dir=", *(("hydra.launcher.",) if "hydra/launcher" in lines else ()))
    remaining = [
        line
        for line in recorded
        if line.startswith("-") or not (line.lstrip("+").startswith(replaced) or key_of(line) in lines)
    ]
    folders = [f"{key}={quote(str(folder))}" for key in ("hydra.sweep.dir", "sweep.resume")]
    return [*remaining, *(line for line in typed if key_of(line) != "sweep.resume"), *folders]


def _load_or_warn(folder: Path) -> RunResult:
    """Return the record of a run; if it cannot be read, log a warning and return an empty record."""
    try:
        return RunResult.load(folder)
    except UserError as error:
        log.warning("%s. The record is ignored", error)
        return RunResult()

"""The jobs of a sweep: their overrides and results, and the command line that resumes them."""

import logging
import os
import shlex
from collections.abc import Collection, Sequence
from dataclasses import replace
from pathlib import Path, PurePath

from src.config.keys import key_of
from src.config.quoting import quote
from src.errors import UserError
from src.files import lock_folder
from src.process import STOP_SIGNALS, announce
from src.run_result import RunResult
from src.sweep_record import Job, Sweep

DONE = ("completed", "pruned")  # statuses of jobs that are never run again
SWEEP_OPTIONS = ("hydra.", "hydra/", "sweep.")  # options that may change when a sweep is resumed
STOPPED_CODES = {code for signum in STOP_SIGNALS for code in (-signum, 128 + signum)}
log = logging.getLogger(__name__)


def shared_overrides(jobs: Sequence[Sequence[str]]) -> frozenset[str]:
    """Return the overrides that all jobs share.

    For a single job, these are only the overrides whose values are absolute paths, so that the name of its folder
    contains all others.
    """
    if len(jobs) > 1:
        return frozenset(jobs[0]).intersection(*jobs)
    values = {override: override.partition("=")[2].strip("'\"") for override in jobs[0]}
    return frozenset(override for override, value in values.items() if PurePath(value).is_absolute())


def describe(job: Job, shared: Collection[str]) -> str:
    """Return the overrides of a job as on a command line, except overrides that all jobs share."""
    return shlex.join(override for override in job.overrides if override not in shared)


def recorded_result(folder: Path) -> RunResult:
    """Return the record of a run; if it cannot be read, log a warning and return an empty record."""
    try:
        return RunResult.load(folder)
    except UserError as error:
        log.warning("%s. The record is ignored", error)
        return RunResult()


def current_result(folder: Path) -> RunResult:
    """Return the record of a job with its status, which is `running` while a process locks the folder."""
    result = recorded_result(folder)
    if result.status in DONE or not folder.is_dir():
        return result
    with lock_folder(folder) as acquired:
        return result if acquired else replace(result, status="running", error=None)


def accuracy(result: RunResult) -> float | None:
    """Return the accuracy on the test split, or on the validation split if there was no test."""
    return result.score("test/acc" if "test/acc" in result.metrics else "val/acc")


def require_ending(folder: Path, code: int, error: str, overrides: Sequence[str]) -> None:
    """Record a failure or an interruption if the job's process ended without recording how it ended.

    A recorded completion counts only if the exit code is 0.

    Args:
        code: exit code of the job's process.
        error: the reason to record.
        overrides: the job's overrides, for a record that has none.
    """
    result = recorded_result(folder)
    is_recorded = {"completed": code == 0, "failed": bool(result.error), "interrupted": True, "pruned": True}
    if not is_recorded.get(result.status):
        status = "interrupted" if code in STOPPED_CODES else "failed"
        replace(result, overrides=result.overrides or tuple(overrides), status=status, error=error).save(folder)


def pending_jobs(sweep: Sweep, folder: Path) -> list[Job]:
    """Return the jobs of the sweep in `folder` that are neither completed nor pruned.

    Raises:
        UserError: if the folder of a job is a link or outside the sweep's folder.
    """
    for job in sweep.jobs:
        path = folder / job.folder
        if path.resolve() != folder.resolve() / job.folder or PurePath(job.folder).is_absolute():
            raise UserError(f"{path} is a link or outside the sweep's folder: remove it, and the job starts anew")
    return [job for job in sweep.jobs if current_result(folder / job.folder).status not in DONE]


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

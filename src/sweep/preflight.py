"""Validate all jobs before the first one starts."""

import json
import shlex
from collections.abc import Collection, Sequence
from typing import Any, NamedTuple

from hydra.errors import HydraException
from omegaconf import DictConfig, ListConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from src.config.hydra_errors import explain
from src.config.mistakes import Mistake
from src.config.paths import path_mistakes, require_relative_path
from src.config.schema import config_mistakes
from src.errors import UserError
from src.formatting import format_count, format_value
from src.sweep.compose import Composer
from src.sweep.jobs import Job
from src.sweep.processes import map_in_processes

SHOWN = 6  # maximum number of jobs listed for each mistake
MAX_CHARACTERS = 160  # maximum length of a job's overrides in the report
ONE_DEVICE = (
    "a job of a sweep trains on one device: for each further device, Lightning would run the whole sweep again; "
    "write trainer=cpu or trainer=gpu, and run several jobs at once with hydra/launcher=joblib"
)


class ValidatedJob(NamedTuple):
    """The result of validating one job.

    Args:
        mistakes: the reasons why the job cannot run; empty if it can run.
        signature: the configuration as text, which is the same for duplicate jobs; empty if there are mistakes.
    """

    job: Job
    mistakes: list[Mistake]
    signature: str


def validate_jobs(composer: Composer, requests: Sequence[tuple[int, list[str]]]) -> list[Job]:
    """Return the jobs with their folders, if all of them can run.

    On each core, a process composes and checks some of the jobs: it builds each of their distinct models with a small
    vocabulary, runs one optimizer step on synthetic texts, and reads each of their distinct data sources.

    Args:
        requests: number and overrides of each job.

    Raises:
        UserError: if a job cannot run; the message lists all mistakes, each with the jobs that contain it.
    """

    def validate(requests: Sequence[tuple[int, list[str]]]) -> list[ValidatedJob]:
        from src.sweep.job_build import TrialBuilder

        builder = TrialBuilder()
        return [_validate_job(composer, number, overrides, builder) for number, overrides in requests]

    similar_together = sorted(requests, key=lambda request: (composer.group_choices(request[1]), request[0]))
    results = sorted(map_in_processes(validate, similar_together), key=lambda result: result.job.number)
    _add_duplicate_mistakes(results)
    if any(result.mistakes for result in results):
        raise UserError(_format_report(results, composer.shared))
    return [result.job for result in results]


def _validate_job(composer: Composer, number: int, overrides: list[str], builder: Any) -> ValidatedJob:
    try:
        job, task = composer.compose(number, overrides)
    except (HydraException, OmegaConfBaseException) as error:
        reason = explain(error) if isinstance(error, HydraException) else str(error).splitlines()[0]
        return ValidatedJob(Job(number, overrides, ""), [Mistake("", reason)], "")
    mistakes = [
        *config_mistakes(task, "train"),
        *path_mistakes("hydra.sweep.subdir", job.folder, require_relative_path),
    ]
    if not mistakes:
        mistakes = _device_mistakes(task.trainer) + builder.find_mistakes(task)
    signature = "" if mistakes else json.dumps(OmegaConf.to_container(task, resolve=True), sort_keys=True, default=str)
    return ValidatedJob(job, mistakes, signature)


def _device_mistakes(trainer: DictConfig) -> list[Mistake]:
    devices, strategy = trainer.get("devices"), str(trainer.get("strategy", "auto"))
    has_one_device = devices in (1, "1") or (isinstance(devices, ListConfig) and len(devices) == 1)
    if has_one_device and trainer.get("num_nodes", 1) == 1 and not strategy.startswith(("ddp", "fsdp", "deepspeed")):
        return []
    return [Mistake(f"trainer.strategy={strategy} trainer.devices={format_value(devices)}", ONE_DEVICE)]


def _add_duplicate_mistakes(results: list[ValidatedJob]) -> None:
    """Add a mistake to each job that has the configuration or the folder of an earlier job."""
    first_by_signature: dict[str, Job] = {}
    first_by_folder: dict[str, Job] = {}
    for job, mistakes, signature in results:
        if not signature:
            continue
        first = first_by_signature.setdefault(signature, job)
        if first is not job:
            mistakes.append(Mistake("", f"has the same configuration as job {first.number}: remove one of them"))
        elif first_by_folder.setdefault(job.folder, job) is not job:
            number = first_by_folder[job.folder].number
            mistakes.append(Mistake("hydra.sweep.subdir", f"is also the folder of job {number}"))


def _format_report(results: Sequence[ValidatedJob], shared: Collection[str]) -> str:
    """Return a message that lists all mistakes, each with the jobs that contain it."""
    jobs_by_mistake: dict[Mistake, list[str]] = {}
    for job, mistakes, _ in results:
        for mistake in mistakes:
            line = job.describe(shared) or shlex.join(job.overrides)
            line = line if len(line) <= MAX_CHARACTERS else line[: MAX_CHARACTERS - 1] + "…"
            jobs_by_mistake.setdefault(mistake, []).append(f"job {job.number}: {line}".rstrip(": "))
    invalid = sum(bool(result.mistakes) for result in results)
    count = format_count(len(jobs_by_mistake), "mistake")
    lines = [f"{count} in {invalid} of {format_count(len(results), 'job')}; nothing was started."]
    for (key, text), entries in jobs_by_mistake.items():
        lines.append(f"  {key}   {text}" if key else f"  {text}")
        rest = len(entries) - SHOWN
        lines += [f"      {entry}" for entry in entries[:SHOWN]] + [f"      and {rest} more"] * (rest > 0)
    return "\n".join(lines)

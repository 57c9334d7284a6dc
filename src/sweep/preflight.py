"""Compose and validate all jobs before the first one starts."""

import json
import os
import shlex
from collections.abc import Collection, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from itertools import product
from pathlib import Path
from typing import NamedTuple

from hydra.core.config_loader import ConfigLoader
from hydra.core.hydra_config import HydraConfig
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.utils import setup_globals
from hydra.errors import HydraException
from omegaconf import DictConfig, OmegaConf, open_dict, read_write
from omegaconf.errors import OmegaConfBaseException

from src.config.compose import explain, without_hydra
from src.config.mistakes import Mistake
from src.config.paths import require_relative_path
from src.errors import UserError
from src.formatting import format_count
from src.sweep.jobs import Job, varying_overrides
from src.sweep.run import die_with_parent, job_context

SHOWN = 6  # maximum number of jobs listed for each mistake
MAX_CHARACTERS = 160  # maximum length of a job's overrides in the report


class Composed(NamedTuple):
    """A job with its configuration, which includes the node `hydra`, or with the reasons why it cannot be composed."""

    job: Job
    cfg: DictConfig
    mistakes: list[Mistake]


def expand_combinations(overrides: Sequence[str], loader: ConfigLoader) -> list[list[str]]:
    """Return the overrides of each job: every combination of the values."""
    columns: dict[str, list[str]] = {}  # an override replaces earlier ones with the same key
    for override in OverridesParser.create(config_loader=loader).parse_overrides(list(overrides)):
        key = override.get_key_element()
        is_swept = override.is_sweep_override()
        values = override.sweep_string_iterator() if is_swept else [override.get_value_element_as_str()]
        columns[key] = [f"{key}={value}" for value in values]
    return [list(row) for row in product(*columns.values())]


def compose_job(
    loader: ConfigLoader, master: DictConfig, number: int, overrides: Sequence[str], shared: Collection[str]
) -> Composed:
    """Compose a job in the same way as Hydra's launchers.

    Args:
        master: the sweep's own configuration.
        shared: overrides that all jobs share; the name of the job's folder omits them.
    """
    try:
        cfg = loader.load_sweep_config(master, list(overrides))
        with read_write(cfg.hydra), open_dict(cfg.hydra):
            cfg.hydra.job.num, cfg.hydra.job.id = number, str(number)
            cfg.hydra.runtime.output_dir = str(Path(cfg.hydra.sweep.dir) / "job")  # a placeholder
            task = cfg.hydra.overrides.task
            cfg.hydra.overrides.task = varying_overrides(task, shared)
            folder = str(cfg.hydra.sweep.subdir)
            cfg.hydra.overrides.task = task
    except (HydraException, OmegaConfBaseException) as error:
        reason = explain(error) if isinstance(error, HydraException) else str(error).splitlines()[0]
        return Composed(Job(number=number, overrides=list(overrides), folder=""), DictConfig({}), [Mistake("", reason)])
    mistakes = []
    try:
        require_relative_path(folder)
    except ValueError as error:
        mistakes.append(Mistake(f"hydra.sweep.subdir={folder}", str(error)))
    return Composed(Job(number=number, overrides=list(overrides), folder=folder), cfg, mistakes)


def validate_jobs(composed: Sequence[Composed], shared: Collection[str]) -> list[Job]:
    """Return the jobs, if all of them can run.

    Processes with the imports of a job validate the configurations; this process does not import torch.

    Raises:
        UserError: if a job cannot run; the message lists all mistakes, each with the jobs that contain it.
    """
    valid = [entry for entry in composed if not entry.mistakes]
    size = -(-len(valid) // (os.cpu_count() or 1)) or 1
    with ProcessPoolExecutor(os.cpu_count(), job_context(), initializer=die_with_parent) as pool:
        try:
            checked = list(pool.map(check_config, [entry.cfg for entry in valid], chunksize=size))
        except BrokenProcessPool:
            raise UserError(
                "a process that validated jobs was killed, usually because memory ran out: free memory and run again"
            ) from None
    first_by_signature: dict[str, Job] = {}
    first_by_folder: dict[str, Job] = {}
    for (job, _, mistakes), (found, signature) in zip(valid, checked, strict=True):
        mistakes += found
        if (first := first_by_signature.setdefault(signature, job)) is not job:
            mistakes.append(Mistake("", f"has the same configuration as job {first.number}: remove one of them"))
        elif (first := first_by_folder.setdefault(job.folder, job)) is not job:
            mistakes.append(Mistake("hydra.sweep.subdir", f"is also the folder of job {first.number}"))
    if any(entry.mistakes for entry in composed):
        raise UserError(_format_report(composed, shared))
    return [entry.job for entry in composed]


def check_config(cfg: DictConfig) -> tuple[list[Mistake], str]:
    """Return the mistakes in a job's configuration, and the configuration as text, which duplicate jobs share."""
    from src.config.schema import config_mistakes

    setup_globals()
    HydraConfig.instance().set_config(cfg)  # for interpolations of ${hydra:…}
    task = without_hydra(cfg)
    if mistakes := list(config_mistakes(task, "train")):
        return mistakes, f"job {cfg.hydra.job.num}"
    return [], json.dumps(OmegaConf.to_container(task, resolve=True), sort_keys=True, default=str)


def _format_report(composed: Sequence[Composed], shared: Collection[str]) -> str:
    """Return a message that lists all mistakes, each with the jobs that contain it."""
    jobs_by_mistake: dict[Mistake, list[str]] = {}
    for job, _, mistakes in composed:
        for mistake in mistakes:
            line = job.describe(shared) or shlex.join(job.overrides)
            line = line if len(line) <= MAX_CHARACTERS else line[: MAX_CHARACTERS - 1] + "…"
            jobs_by_mistake.setdefault(mistake, []).append(f"job {job.number}: {line}".rstrip(": "))
    invalid = sum(bool(mistakes) for _, _, mistakes in composed)
    count = format_count(len(jobs_by_mistake), "mistake")
    lines = [f"{count} in {invalid} of {format_count(len(composed), 'job')}; nothing was started."]
    for (key, text), entries in jobs_by_mistake.items():
        lines.append(f"  {key}   {text}" if key else f"  {text}")
        rest = len(entries) - SHOWN
        lines += [f"      {entry}" for entry in entries[:SHOWN]] + [f"      and {rest} more"] * (rest > 0)
    return "\n".join(lines)

"""Compose and validate all jobs before the first one starts."""

import json
import os
import shlex
from collections.abc import Collection, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from typing import NamedTuple

from hydra.core.hydra_config import HydraConfig
from hydra.core.utils import setup_globals
from omegaconf import DictConfig, OmegaConf, open_dict, read_write
from omegaconf.errors import OmegaConfBaseException

from src.config.compose import ConfigFiles, Override, without_hydra
from src.config.keys import key_of
from src.config.mistakes import Mistake
from src.config.paths import require_relative_path
from src.errors import UserError
from src.formatting import format_count
from src.sweep.jobs import describe
from src.sweep.run import die_with_parent, job_context
from src.sweep_record import Job

SHOWN = 6  # maximum number of jobs listed for each mistake
MAX_CHARACTERS = 160  # maximum length of a job's overrides in the report


class Composed(NamedTuple):
    """A job with its configuration, which includes the node `hydra`, and the mistakes in its overrides."""

    job: Job
    cfg: DictConfig
    mistakes: list[Mistake]


def hydra_overrides(sweep: DictConfig) -> list[str]:
    """Return the overrides of the node `hydra` of a sweep, except the search path, which `ConfigFiles` adds itself."""
    return [line for line in sweep.hydra.overrides.hydra if key_of(line) != "hydra.searchpath"]


def parse_overrides(files: ConfigFiles, sweep: DictConfig, lines: Sequence[str]) -> list[Override]:
    """Parse the overrides of a sweep; if an option is set several times, the last override counts.

    Raises:
        UserError: if an override is wrong; those of the command line were checked earlier, unlike those of files.
    """
    last = {key_of(line): line for line in lines}.values()
    files.compose([*hydra_overrides(sweep), *last], sweeps=True)
    return [files.parse(line) for line in last]


def compose_job(
    files: ConfigFiles, sweep: DictConfig, number: int, overrides: list[str], shared: Collection[str]
) -> Composed:
    """Compose a job as Hydra's launchers do; files are merged once for each choice of them.

    Args:
        sweep: the sweep's own configuration.
        shared: overrides that all jobs share; the name of the job's folder omits them.
    """
    cfg, mistakes = files.check([*hydra_overrides(sweep), *overrides])
    if mistakes:
        return Composed(Job(number=number, overrides=overrides, folder=""), cfg, mistakes)
    OmegaConf.copy_cache(from_config=sweep, to_config=cfg)  # the values of ${now:…} are those of the sweep
    with read_write(cfg.hydra), open_dict(cfg.hydra):
        node = cfg.hydra
        node.job.num, node.job.id, node.sweep.dir = number, str(number), str(sweep.hydra.sweep.dir)
        node.runtime.output_dir = f"{node.sweep.dir}/job"  # a placeholder
        try:
            node.overrides.task = [line for line in overrides if line not in shared]
            folder = str(node.sweep.subdir)
            require_relative_path(folder)
        except (OmegaConfBaseException, ValueError) as error:
            mistake = Mistake("hydra.sweep.subdir", str(error).splitlines()[0])
            return Composed(Job(number=number, overrides=overrides, folder=""), cfg, [mistake])
        node.overrides.task, node.sweep.subdir = overrides, folder
    return Composed(Job(number=number, overrides=overrides, folder=folder), cfg, [])


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
            line = describe(job, shared) or shlex.join(job.overrides)
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

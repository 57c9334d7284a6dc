"""Looking over all jobs before the first one begins."""

import json
import shlex
from collections.abc import Sequence
from typing import Any, NamedTuple

from hydra.errors import HydraException
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from src.config.hydra_errors import explain
from src.config.mistakes import Mistake, format_value
from src.config.outputs import relative_path_mistakes
from src.config.validation import config_mistakes
from src.errors import UserError
from src.sweep.compose import Composer, planned, task_of
from src.sweep.jobs import Job, varying
from src.sweep.processes import spread

COMMAND = "train"
SHOWN = 6  # jobs named beside a mistake
OVERRIDES = 160  # characters of a job's overrides that are shown
SEVERAL = (
    "a job of a sweep trains on one device: for each further one, Lightning would run the whole sweep again; "
    "write trainer=cpu or trainer=gpu, and run several jobs at once with hydra/launcher=joblib"
)


class Looked(NamedTuple):
    """What was found of one job.

    Args:
        job: with its folder.
        mistakes: none if it can run.
        does: equal for jobs that would do the same.
    """

    job: Job
    mistakes: list[Mistake]
    does: str


def look_over(composer: Composer, wanted: Sequence[tuple[int, list[str]]]) -> list[Job]:
    """The jobs with their folders, if all of them can run.

    Every job is composed and checked; each different model is built on tiny sizes and takes a step, and each
    different source of data is read, in as many processes as there are cores.

    Args:
        composer: of their configurations.
        wanted: number and overrides of each.

    Raises:
        UserError: with all mistakes, and for each the jobs that make it.
    """
    by_files = sorted(range(len(wanted)), key=lambda at: (composer.choices(wanted[at][1]), at))

    def examine(places: Sequence[int]) -> list[tuple[int, Looked]]:
        from src.sweep.job_build import Workshop

        workshop = Workshop()
        return [(at, _look(composer, *wanted[at], workshop)) for at in places]

    found = [looked for _, looked in sorted(spread(examine, by_files))]
    _repeats(found)
    if any(looked.mistakes for looked in found):
        raise UserError(_report(found))
    return [looked.job for looked in found]


def _look(composer: Composer, number: int, overrides: list[str], workshop: Any) -> Looked:
    try:
        cfg = composer(number, overrides)
    except (HydraException, OmegaConfBaseException) as error:
        why = explain(error) if isinstance(error, HydraException) else str(error).splitlines()[0]
        return Looked(Job(number, overrides, ""), [Mistake("", why)], "")
    job, task = planned(number, overrides, cfg), task_of(cfg)
    mistakes = [*_mistakes(task), *relative_path_mistakes("hydra.sweep.subdir", job.folder)]
    if not mistakes:
        mistakes = _devices(task.trainer) + workshop.mistakes(task)
    does = "" if mistakes else json.dumps(OmegaConf.to_container(task, resolve=True), sort_keys=True, default=str)
    return Looked(job, mistakes, does)


def _mistakes(task: DictConfig) -> list[Mistake]:
    """As `check`, and faster where all is well, for the interpolations are resolved but once."""
    resolved = task.copy()
    try:
        OmegaConf.resolve(resolved)
        if not list(config_mistakes(resolved, COMMAND)):
            return []
    except OmegaConfBaseException:
        pass  # which one it is shows below
    return list(config_mistakes(task, COMMAND))


def _devices(trainer: DictConfig) -> list[Mistake]:
    devices, strategy = trainer.get("devices"), str(trainer.get("strategy", "auto"))
    one = devices in (1, "1") or (not isinstance(devices, (str, int)) and devices is not None and len(devices) == 1)
    if one and trainer.get("num_nodes", 1) == 1 and not strategy.startswith(("ddp", "fsdp", "deepspeed")):
        return []
    return [Mistake(f"trainer.strategy={strategy} trainer.devices={format_value(devices)}", SEVERAL)]


def _repeats(found: list[Looked]) -> None:
    """A job that would do what another does, or write where another does, is a mistake."""
    first: dict[str, Job] = {}
    folders: dict[str, Job] = {}
    for looked in found:
        if not looked.does:
            continue
        before = first.setdefault(looked.does, looked.job)
        if before is not looked.job:
            looked.mistakes.append(Mistake("", f"does the same as job {before.number}: leave one of them out"))
        elif folders.setdefault(looked.job.folder, looked.job) is not looked.job:
            clash = folders[looked.job.folder].number
            looked.mistakes.append(Mistake("hydra.sweep.subdir", f"is the same folder as that of job {clash}"))


def _report(found: Sequence[Looked]) -> str:
    """All mistakes, each with the jobs that make it."""
    makers: dict[Mistake, list[str]] = {}
    for looked, overrides in zip(found, varying([looked.job for looked in found]), strict=True):
        for mistake in looked.mistakes:
            line = shlex.join(overrides or looked.job.overrides)
            line = line if len(line) <= OVERRIDES else line[: OVERRIDES - 1] + "…"
            makers.setdefault(mistake, []).append(f"job {looked.job.number}: {line}".rstrip(": "))
    bad = sum(bool(looked.mistakes) for looked in found)
    what = "1 mistake" if len(makers) == 1 else f"{len(makers)} mistakes"
    lines = [f"{what} in {bad} of {len(found)} jobs; nothing was started."]
    for (where, why), jobs in makers.items():
        lines.append(f"  {where}   {why}" if where else f"  {why}")
        rest = len(jobs) - SHOWN
        lines += [f"      {job}" for job in jobs[:SHOWN]] + [f"      and {rest} more"] * (rest > 0)
    return "\n".join(lines)

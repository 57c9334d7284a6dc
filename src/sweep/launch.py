"""Passes the jobs of a sweep to a launcher."""

import inspect
import logging
import sys
from collections.abc import Sequence

from hydra.core.plugins import Plugins
from hydra.plugins.launcher import Launcher
from hydra.types import HydraContext, TaskFunction
from omegaconf import DictConfig

from src.config.quoting import quote
from src.errors import UserError
from src.extras import launcher_install_hint
from src.sweep.jobs import Job
from src.sweep.processes import die_with_parent
from src.sweep.task import JobNotCompleted, Task

log = logging.getLogger(__name__)


def launch(jobs: Sequence[Job], task: Task, hydra_context: HydraContext, config: DictConfig) -> None:
    """Run jobs with the configured launcher.

    Args:
        jobs: at least one.
        task: the function that the launcher calls for each job.
        hydra_context: loads the config files.
        config: the sweep's own configuration.

    Raises:
        UserError: if the launcher is not installed.
    """
    launcher = _make_launcher(task, hydra_context, config)
    overrides = [[*job.overrides, f"hydra.sweep.subdir={quote(job.folder)}"] for job in jobs]
    try:
        results = launcher.launch(overrides, initial_job_idx=jobs[0].number)
    except Exception as error:  # a worker died; the jobs' folders record which jobs are completed
        log.error("The launcher failed: %s: %s", type(error).__name__, error)
        return
    for job, result in zip(jobs, results, strict=False):
        value = result._return_value
        if isinstance(value, Exception) and not isinstance(value, JobNotCompleted):
            log.error("#%d could not be run", job.number, exc_info=value)


def _make_launcher(task: Task, hydra_context: HydraContext, config: DictConfig) -> Launcher:
    try:
        launcher = Plugins.instance().instantiate_launcher(hydra_context, task, config)
    except (RuntimeError, ImportError) as error:
        name = config.hydra.runtime.choices.get("hydra/launcher")
        hint, reason = launcher_install_hint(name) or "is its plugin installed?", str(error).strip().splitlines()[0]
        raise UserError(f"hydra/launcher={name} cannot be loaded ({reason}); {hint}") from error
    if isinstance(workers := getattr(launcher, "joblib", None), dict):  # joblib's options for workers
        workers["initializer"] = die_with_parent
    return launcher


def module_name(task: TaskFunction) -> str:
    """Return the name by which other processes import the command's module."""
    name = inspect.unwrap(task).__module__
    if name == "__main__":
        name = sys.modules["__main__"].__spec__.name  # type: ignore[union-attr]  # run as python -m
    return name

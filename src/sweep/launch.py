"""Pass the jobs of a sweep to a launcher, which runs each job in a separate process."""

import inspect
import logging
import os
import sys
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hydra.core.hydra_config import HydraConfig
from hydra.core.plugins import Plugins
from hydra.plugins.launcher import Launcher
from hydra.types import HydraContext, TaskFunction
from omegaconf import DictConfig, open_dict

from src.config.quoting import quote
from src.errors import UserError
from src.extras import plugin_install_hint
from src.files import LOCK_TIMEOUT, lock_folder
from src.run_result import delete_result
from src.sweep import processes
from src.sweep.child import OUTPUT, run_job
from src.sweep.jobs import Job
from src.sweep.outcome import DONE, ensure_outcome, read_recorded_outcome
from src.sweep.stop import stop_requested

log = logging.getLogger(__name__)


class JobNotCompleted(Exception):
    """A job failed, was interrupted or did not start."""


@dataclass(frozen=True)
class Task:
    """Runs one job in a child process, and records the job's outcome even if the child is killed.

    A completed or pruned job is not repeated, an interrupted job resumes from its last checkpoint, and a job that is
    running in another process is skipped. A launcher may therefore call the task again for the same job, as the
    launchers for Slurm and Ray do after a failure.

    Args:
        module: the command's module, such as src.train.
        working_dir: the folder relative to which paths are resolved.
        sweep: the sweep's folder.
        jobs: the jobs, by folder.
        shared: overrides that all jobs share, which are omitted from messages.
        redirect_output: whether jobs print to output.txt in their folders.
        pruning: options of the pruning callback, except the number of the trial; None disables pruning.
    """

    module: str
    working_dir: Path
    sweep: Path
    jobs: Mapping[str, Job]
    shared: Collection[str]
    redirect_output: bool
    pruning: Mapping[str, object] | None

    def __call__(self, cfg: DictConfig) -> float | None:
        """Run the job, unless it was completed or pruned earlier, and return the score of its selected checkpoint.

        Raises:
            JobNotCompleted: if the job is neither completed nor pruned afterwards.
        """
        os.chdir(self.working_dir)  # a worker may have started in another folder
        hydra: Any = HydraConfig.instance().cfg
        folder = Path(hydra.hydra.runtime.output_dir)
        job = self.jobs[folder.relative_to(self.sweep).as_posix()]
        if stop_requested(self.sweep):
            raise JobNotCompleted("the sweep was stopped")
        with lock_folder(folder, LOCK_TIMEOUT) as acquired:
            if not acquired:
                raise JobNotCompleted("another process is running this job")
            if read_recorded_outcome(folder).status not in DONE:
                self._run(job, cfg, hydra, folder)
        outcome = read_recorded_outcome(folder)
        if outcome.status not in DONE:
            raise JobNotCompleted(outcome.error)
        return outcome.score

    def _run(self, job: Job, cfg: DictConfig, hydra: DictConfig, folder: Path) -> None:
        delete_result(folder)
        if self.pruning:
            with open_dict(cfg):
                cfg.callbacks = {**(cfg.callbacks or {}), "pruning": {**self.pruning, "trial": job.number}}
        arguments = (self.module, cfg, hydra, self.redirect_output)
        code = processes.run(run_job, arguments, lambda: stop_requested(self.sweep))
        ensure_outcome(folder, code, _describe_exit(code), job.overrides)
        outcome = read_recorded_outcome(folder)
        figures = [] if outcome.accuracy is None else [f"acc {outcome.accuracy:.3f}"]
        figures += [] if outcome.seconds is None else [f"{outcome.seconds:.1f} s"]
        reason = [outcome.error or "", f"see {folder / OUTPUT}"][: 1 + self.redirect_output]
        details = figures if outcome.status in DONE else [*figures, *reason]
        log.info("#%d %s: %s", job.number, job.describe(self.shared), ", ".join([outcome.status, *details]))


def _describe_exit(code: int) -> str:
    if code == -9:
        return "killed by SIGKILL, possibly because memory ran out"
    return f"killed by signal {-code}" if code < 0 else f"ended with exit code {code}"


def launch(jobs: Sequence[Job], task: Task, hydra_context: HydraContext, config: DictConfig) -> None:
    """Run jobs with the configured launcher.

    Args:
        jobs: at least one job.
        config: the sweep's own configuration.

    Raises:
        UserError: if the launcher cannot be loaded.
    """
    launcher = _make_launcher(task, hydra_context, config)
    overrides = [[*job.overrides, f"hydra.sweep.subdir={quote(job.folder)}"] for job in jobs]
    try:
        results = launcher.launch(overrides, initial_job_idx=jobs[0].number)
    except Exception as error:  # for example, a worker died; the folders record which jobs are completed
        log.error("The launcher failed: %s: %s", type(error).__name__, error)
        return
    for job, result in zip(jobs, results, strict=False):
        value = result._return_value
        if isinstance(value, Exception) and not isinstance(value, JobNotCompleted):
            log.error("Job #%d could not be run", job.number, exc_info=value)


def _make_launcher(task: Task, hydra_context: HydraContext, config: DictConfig) -> Launcher:
    try:
        launcher = Plugins.instance().instantiate_launcher(hydra_context, task, config)
    except (RuntimeError, ImportError) as error:
        name = config.hydra.runtime.choices.get("hydra/launcher")
        reason = str(error).strip().splitlines()[0]
        raise UserError(f"hydra/launcher={name} cannot be loaded ({reason}); {plugin_install_hint(name)}") from error
    if isinstance(workers := getattr(launcher, "joblib", None), dict):  # joblib's options for workers
        workers["initializer"] = processes.die_with_parent
    return launcher


def module_name(task: TaskFunction) -> str:
    """Return the name under which other processes can import the command's module."""
    name = inspect.unwrap(task).__module__
    if name == "__main__":
        name = sys.modules["__main__"].__spec__.name  # type: ignore[union-attr]  # run as python -m
    return name

"""The sweeper behind `-m`: plans, validates and launches jobs, and reports their outcomes."""

import inspect
import logging
import sys
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from hydra.core.plugins import Plugins
from hydra.plugins import sweeper
from hydra.plugins.launcher import Launcher
from hydra.types import HydraContext, TaskFunction
from omegaconf import DictConfig, OmegaConf

from src.config.quoting import quote
from src.errors import UserError
from src.sweep import stop
from src.sweep.compose import Composer, expand_combinations, task_config
from src.sweep.jobs import FILE, Job, Sweep, count_jobs
from src.sweep.launchers import install_hint
from src.sweep.outcome import DONE, Outcome, read_outcome
from src.sweep.preflight import validate_jobs
from src.sweep.processes import die_with_parent
from src.sweep.task import JobNotCompleted, Task

log = logging.getLogger(__name__)
OUTPUTS = Path("outputs")  # contains the earlier runs that durations are estimated from


class GridOrSearch(sweeper.Sweeper):
    """Runs every combination of the values on the command line, or the jobs that a search samples.

    Args:
        max_batch_size: number of jobs that are passed to the launcher at a time; None passes all.
        params: values by option, as on the command line, which takes precedence.
        search: options of `src.sweep.search.Search`; None runs every combination.
    """

    def __init__(
        self,
        max_batch_size: int | None = None,
        params: Mapping[str, str] | None = None,
        search: Mapping[str, Any] | None = None,
    ) -> None:
        self.max_batch_size = max_batch_size
        self.params = params or {}
        self.search = search

    hydra_context: HydraContext
    config: DictConfig

    def setup(self, *, hydra_context: HydraContext, task_function: TaskFunction, config: DictConfig) -> None:
        self.hydra_context = hydra_context
        self.task_function = task_function
        self.config = config
        self.composer = Composer(hydra_context.config_loader, config)
        self.folder = Path(str(config.hydra.sweep.dir)).absolute()

    def sweep(self, arguments: list[str]) -> None:
        """Run the sweep.

        Raises:
            UserError: if a job cannot run, or the folder contains another sweep.
            SystemExit: with 1 if a job failed, with 128 plus the signal's number if a signal stopped the sweep.
        """
        overrides = [argument for argument in arguments if not argument.lstrip("+").startswith("sweep.")]
        if self.config.sweep.resume is None and (self.folder / FILE).exists():
            raise UserError(
                f"{self.folder} already contains a sweep: resume it with sweep.resume={self.folder}, or choose another "
                "hydra.sweep.dir"
            )
        if self.search is not None:
            from src.sweep.search import Search

            Search(self, overrides, **self.search).run()
            return
        jobs, outcomes = self.plan(overrides)
        pending = [job for job, outcome in zip(jobs, outcomes, strict=True) if outcome.status not in DONE]
        if not pending:
            log.info("All jobs are completed (%d)", len(jobs))
        elif pending := self.validate([(job.number, job.overrides) for job in pending]):
            by_number = {job.number: job for job in pending}
            jobs = [by_number.get(job.number, job) for job in jobs]
        if self.config.sweep.dry_run:
            self.print_plan(pending, len(jobs) - len(pending))
            return
        sweep = self.begin(jobs)
        with stop.on_signals(self.folder) as received:
            size = self.max_batch_size or len(pending)
            for start in range(0, len(pending), size or 1):
                if not received:
                    self.launch(pending[start : start + size])
        self.finish(sweep, received)

    def plan(self, overrides: Sequence[str]) -> tuple[list[Job], list[Outcome]]:
        """Return the jobs and their outcomes. All jobs of a new sweep are pending."""
        if self.config.sweep.resume is not None:
            jobs = Sweep.read(self.folder).jobs
            return jobs, [read_outcome(self.folder / job.folder) for job in jobs]
        combinations = expand_combinations(self.params, overrides, self.hydra_context.config_loader)
        jobs = [Job(number, combination, "") for number, combination in enumerate(combinations)]
        return jobs, [Outcome("pending")] * len(jobs)

    def validate(self, requests: Sequence[tuple[int, list[str]]]) -> list[Job]:
        """Return the jobs with their folders, if all of them can run.

        Raises:
            UserError: with all mistakes.
        """
        start = time.perf_counter()
        jobs = validate_jobs(self.composer, requests)
        log.info("Validated %s in %.1f s", count_jobs(len(jobs)), time.perf_counter() - start)
        return jobs

    def print_plan(self, jobs: Sequence[Job], completed: int) -> None:
        """Print the jobs that would run, with the durations that earlier runs suggest."""
        from src.sweep.estimate import estimate_seconds
        from src.sweep.table import describe_total, plan_table, show

        configs = [task_config(self.composer.compose(job.number, job.overrides)) for job in jobs]
        seconds = estimate_seconds(configs, OUTPUTS)
        rest = f" ({completed} more completed)" if completed else ""
        show(
            plan_table(jobs, seconds),
            f"{count_jobs(len(jobs))}{rest}. {describe_total(seconds)}",
            f"Output folder: {self.folder}/. Nothing was started: remove sweep.dry_run to start the jobs.",
        )

    def begin(self, jobs: list[Job]) -> Sweep:
        """Write the files from which the sweep can be resumed."""
        if self.config.sweep.resume is not None:
            sweep = Sweep.read(self.folder)
            sweep.jobs = jobs
        else:
            sweep = Sweep(self.folder, sys.argv[1:], jobs, {"started": _now()})
        sweep.record.pop("finished", None)
        sweep.write()
        OmegaConf.save(self.config, self.folder / "multirun.yaml")
        return sweep

    def launch(self, jobs: Sequence[Job], callbacks: Mapping[str, Mapping[str, Any]] | None = None) -> None:
        """Run jobs with the launcher. Their outcomes are recorded in their folders.

        Args:
            jobs: the jobs to run.
            callbacks: callbacks to add to the configured ones.

        Raises:
            UserError: if the launcher is not installed.
        """
        if not jobs:
            return
        redirect_output = self.config.hydra.runtime.choices.get("hydra/launcher") != "basic"
        module = _module_name(self.task_function)
        jobs_by_folder = {job.folder: job for job in jobs}
        task = Task(module, Path.cwd(), self.folder, jobs_by_folder, redirect_output, callbacks or {})
        launcher = self._launcher(task)
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

    def _launcher(self, task: Task) -> Launcher:
        name = str(self.config.hydra.runtime.choices.get("hydra/launcher"))
        try:
            launcher = Plugins.instance().instantiate_launcher(
                hydra_context=self.hydra_context, task_function=task, config=self.config
            )
        except (RuntimeError, ImportError) as error:
            hint, reason = install_hint(name) or "is its plugin installed?", str(error).strip().splitlines()[0]
            raise UserError(f"hydra/launcher={name} cannot be loaded ({reason}); {hint}") from error
        if isinstance(workers := getattr(launcher, "joblib", None), dict):  # joblib's options for workers
            workers["initializer"] = die_with_parent
        return launcher

    def finish(self, sweep: Sweep, received: Sequence[int]) -> None:
        """Report the outcome of every job, and exit with the corresponding code.

        Args:
            sweep: the sweep to write.
            received: the signals that stopped the sweep.
        """
        from src.sweep.table import outcome_table, show

        outcomes = [read_outcome(self.folder / job.folder) for job in sweep.jobs]
        sweep.record["finished"] = _now()
        sweep.write(outcomes)
        counts = Counter(outcome.status for outcome in outcomes)
        summary = ", ".join(f"{count} {status}" for status, count in sorted(counts.items()))
        lines: list[Any] = [outcome_table(sweep.jobs, outcomes), f"{summary}. Output folder: {self.folder}/"]
        if set(counts) - set(DONE):
            lines.append(f"To run the remaining jobs: python -m src.train sweep.resume={_quote(self.folder)}")
        show(*lines)
        if received:
            raise SystemExit(128 + received[0])
        if set(counts) - set(DONE):
            raise SystemExit(1)


def _module_name(task: TaskFunction) -> str:
    """Return the name by which other processes import the command's module."""
    name = inspect.unwrap(task).__module__
    if name == "__main__":
        name = sys.modules["__main__"].__spec__.name  # type: ignore[union-attr]  # run as python -m
    return name


def _quote(folder: Path) -> str:
    """Quote a folder for Hydra's command line, relative to the current folder if possible."""
    current = Path.cwd()
    path = str(folder.relative_to(current) if folder.is_relative_to(current) else folder)
    return path if path.replace("/", "").replace("-", "").replace("_", "").replace(".", "").isalnum() else repr(path)


def _now() -> str:
    return datetime.now(timezone.utc).isoformat()

"""What -m does: plan, look over, launch, and say how every job ended."""

import inspect
import logging
import sys
import time
from collections.abc import Mapping, Sequence
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hydra.core.plugins import Plugins
from hydra.plugins import sweeper
from hydra.plugins.launcher import Launcher
from hydra.types import HydraContext, TaskFunction
from omegaconf import DictConfig, OmegaConf

from src.config.quoting import literal
from src.errors import UserError
from src.sweep import stop
from src.sweep.compose import Composer, combinations, task_of
from src.sweep.jobs import FILE, Job, Sweep
from src.sweep.launchers import install_hint
from src.sweep.outcome import DONE, Outcome, read_outcome
from src.sweep.preflight import look_over
from src.sweep.processes import die_with_parent, spread
from src.sweep.task import NotDone, Task

if TYPE_CHECKING:
    from src.sweep.estimate import Estimate

log = logging.getLogger(__name__)


class GridOrSearch(sweeper.Sweeper):
    """Runs every combination of the values given, or those that a search asks for.

    Args:
        max_batch_size: jobs that the launcher is handed at a time; None hands it all.
        params: values by option, as on the command line, which comes first.
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
        """Run it all.

        Raises:
            UserError: if a job cannot run, or the folder holds another sweep.
            SystemExit: with 1 if a job failed, with 128 and the signal's number if one stopped the sweep.
        """
        given = [line for line in arguments if not line.lstrip("+").startswith("sweep.")]
        if self.config.sweep.resume is None and (self.folder / FILE).exists():
            raise UserError(
                f"{self.folder} holds a sweep already: go on with it by sweep.resume={self.folder}, or choose another "
                "hydra.sweep.dir"
            )
        if self.search is not None:
            from src.sweep.search import Search

            Search(self, given, **self.search).run()
            return
        jobs, outcomes = self.planned(given)
        waiting = [job for job, end in zip(jobs, outcomes, strict=True) if end.status not in DONE]
        if not waiting:
            log.info("All %d jobs are done", len(jobs))
        elif waiting := self.looked_over([(job.number, job.overrides) for job in waiting]):
            by_number = {job.number: job for job in waiting}
            jobs = [by_number.get(job.number, job) for job in jobs]
        if self.config.sweep.dry_run:
            self.show_plan(waiting, len(jobs) - len(waiting))
            return
        kept = self.begun(jobs)
        with stop.on_signals(self.folder) as came:
            size = self.max_batch_size or len(waiting)
            for start in range(0, len(waiting), size or 1):
                if not came:
                    self.launch(waiting[start : start + size])
        self.end(kept, came)

    def planned(self, given: Sequence[str]) -> tuple[list[Job], list[Outcome]]:
        """The jobs, and how they stand: all of a new sweep are pending."""
        if self.config.sweep.resume is not None:
            jobs = Sweep.read(self.folder).jobs
            return jobs, [read_outcome(self.folder / job.folder) for job in jobs]
        lines = combinations(self.params, given, self.hydra_context.config_loader)
        jobs = [Job(number, overrides, "") for number, overrides in enumerate(lines)]
        return jobs, [Outcome("pending")] * len(jobs)

    def looked_over(self, wanted: Sequence[tuple[int, list[str]]]) -> list[Job]:
        """The jobs with their folders, if all of them can run.

        Raises:
            UserError: with all mistakes.
        """
        start = time.perf_counter()
        jobs = look_over(self.composer, wanted)
        log.info("Looked over %d jobs in %.1f s", len(jobs), time.perf_counter() - start)
        return jobs

    def show_plan(self, jobs: Sequence[Job], done: int) -> None:
        """Print what would run, and for how long."""
        from src.sweep.table import duration, plan_table, show

        def cost(several: Sequence[Job]) -> "list[Estimate]":
            from src.sweep.estimate import estimate

            tasks = [task_of(self.composer(job.number, job.overrides)) for job in several]
            return list(estimate(tasks, Path("outputs")))

        costs = spread(cost, jobs, processes=1) if jobs else []
        total = duration(sum(seconds for seconds, _, _ in costs))
        more = f", and {done} are done" if done else ""
        show(
            plan_table(jobs, costs),
            f"{len(jobs)} jobs{more}: about {total} of work, at most {self.config.trainer.max_epochs} epochs each. "
            "“timed” counts training and evaluation, not start and reports.",
            f"They would write to {self.folder}/. Nothing was started: leave sweep.dry_run out.",
        )

    def begun(self, jobs: list[Job]) -> Sweep:
        """Put down what is needed to go on."""
        if self.config.sweep.resume is not None:
            kept = Sweep.read(self.folder)
            kept.jobs = jobs
        else:
            kept = Sweep(self.folder, sys.argv[1:], jobs, {"started": _now()})
        kept.record.pop("finished", None)
        kept.write()
        OmegaConf.save(self.config, self.folder / "multirun.yaml")
        return kept

    def launch(self, jobs: Sequence[Job], callbacks: Mapping[str, Mapping[str, Any]] | None = None) -> None:
        """Let the launcher run jobs; how they end, their folders say.

        Args:
            jobs: which.
            callbacks: to add to the configured ones.

        Raises:
            UserError: if the launcher is not installed.
        """
        if not jobs:
            return
        aside = self.config.hydra.runtime.choices.get("hydra/launcher") != "basic"
        module = _module(self.task_function)
        task = Task(module, Path.cwd(), self.folder, {job.folder: job for job in jobs}, aside, callbacks or {})
        launcher = self._launcher(task)
        lines = [[*job.overrides, f"hydra.sweep.subdir={literal(job.folder)}"] for job in jobs]
        try:
            returned = launcher.launch(lines, initial_job_idx=jobs[0].number)
        except Exception as error:  # a worker of the launcher's died; the jobs' folders say which are done
            log.error("The launcher gave up: %s: %s", type(error).__name__, error)
            return
        for job, one in zip(jobs, returned, strict=False):
            if isinstance(one._return_value, Exception) and not isinstance(one._return_value, NotDone):
                log.error("#%d was not run in order", job.number, exc_info=one._return_value)

    def _launcher(self, task: Task) -> Launcher:
        name = str(self.config.hydra.runtime.choices.get("hydra/launcher"))
        try:
            launcher = Plugins.instance().instantiate_launcher(
                hydra_context=self.hydra_context, task_function=task, config=self.config
            )
        except (RuntimeError, ImportError) as error:
            how, why = install_hint(name) or "is its plugin installed?", str(error).strip().splitlines()[0]
            raise UserError(f"hydra/launcher={name} cannot be loaded ({why}); {how}") from error
        if isinstance(workers := getattr(launcher, "joblib", None), dict):  # joblib's options for its workers
            workers["initializer"] = die_with_parent
        return launcher

    def end(self, kept: Sweep, came: Sequence[int]) -> None:
        """Say how every job ended, and leave with the exit code for that."""
        from src.sweep.table import end_table, show

        outcomes = [read_outcome(self.folder / job.folder) for job in kept.jobs]
        kept.record["finished"] = _now()
        kept.write(outcomes)
        count = {status: sum(end.status == status for end in outcomes) for status in {end.status for end in outcomes}}
        told = ", ".join(f"{number} {status}" for status, number in sorted(count.items()))
        parts: list[Any] = [end_table(kept.jobs, outcomes), f"{told}. Written to {self.folder}/"]
        if set(count) - set(DONE):
            parts.append(f"To run what is missing: python -m src.train sweep.resume={_quoted(self.folder)}")
        show(*parts)
        if came:
            raise SystemExit(128 + came[0])
        if set(count) - set(DONE):
            raise SystemExit(1)


def _module(task: TaskFunction) -> str:
    """Where other processes find the command."""
    name = inspect.unwrap(task).__module__
    if name == "__main__":
        name = sys.modules["__main__"].__spec__.name  # type: ignore[union-attr]  # run as python -m
    return name


def _quoted(folder: Path) -> str:
    """As Hydra's command line takes it, relative to where the user is."""
    here = Path.cwd()
    path = str(folder.relative_to(here) if folder.is_relative_to(here) else folder)
    return path if path.replace("/", "").replace("-", "").replace("_", "").replace(".", "").isalnum() else repr(path)


def _now() -> str:
    return datetime.now(timezone.utc).isoformat()

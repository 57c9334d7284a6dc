"""Validate, record and launch the jobs of a grid or a search."""

import logging
import shlex
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from hydra.types import HydraContext, TaskFunction
from omegaconf import DictConfig, OmegaConf

from src.config.quoting import quote_if_needed
from src.errors import UserError
from src.formatting import format_count, format_now
from src.sweep import stop
from src.sweep.compose import Composer
from src.sweep.jobs import FILE, Job, Sweep
from src.sweep.launch import Task, launch, module_name
from src.sweep.outcome import DONE, read_outcome
from src.sweep.preflight import validate_jobs

log = logging.getLogger(__name__)
OUTPUTS = Path("outputs")  # folder of the earlier runs from which durations are estimated


class SweepRunner:
    """Runs the steps that a grid and a search have in common.

    Args:
        config: the sweep's own configuration.
    """

    def __init__(self, hydra_context: HydraContext, task_function: TaskFunction, config: DictConfig) -> None:
        self.hydra_context = hydra_context
        self.loader = hydra_context.config_loader
        self.module = module_name(task_function)
        self.config = config
        self.composer = Composer(self.loader, config)
        self.folder = Path(str(config.hydra.sweep.dir)).absolute()
        self.is_resumed = config.sweep.resume is not None
        self.is_dry_run = bool(config.sweep.dry_run)

    def require_own_folder(self) -> None:
        """Check that the sweep would not write into the folder of another sweep.

        Raises:
            UserError: if the folder contains another sweep.
        """
        if not self.is_resumed and (self.folder / FILE).exists():
            raise UserError(
                f"{self.folder} already contains a sweep: resume it with sweep.resume={self.folder}, or choose another "
                "hydra.sweep.dir"
            )

    def pending(self, jobs: Sequence[Job]) -> list[Job]:
        """Return the jobs that are neither completed nor pruned."""
        return [job for job in jobs if read_outcome(self.folder / job.folder).status not in DONE]

    def validate(self, requests: Sequence[tuple[int, list[str]]]) -> list[Job]:
        """Return the requested jobs, with their folders, if all of them can run.

        Args:
            requests: number and overrides of each job.

        Raises:
            UserError: if a job cannot run; the message lists all mistakes.
        """
        if not requests:
            log.info("All jobs are completed or pruned")
            return []
        start = time.perf_counter()
        jobs = validate_jobs(self.composer, requests)
        log.info("Validated %s in %.1f s", format_count(len(jobs), "job"), time.perf_counter() - start)
        return jobs

    def print_plan(self, jobs: Sequence[Job], completed: int) -> None:
        """Print the jobs that would run, with their durations estimated from earlier runs."""
        from src.sweep.estimate import estimate_seconds
        from src.sweep.table import describe_total, plan_table, show

        configs = [self.composer.compose(job.number, job.overrides)[1] for job in jobs]
        seconds = estimate_seconds(configs, OUTPUTS)
        others = f" ({completed} more are completed or pruned)" if completed else ""
        show(
            plan_table(jobs, seconds, self.composer.shared),
            f"{format_count(len(jobs), 'job')}{others}. {describe_total(seconds, start=time.process_time())}",
            f"Output folder: {self.folder}/. Nothing was started: remove sweep.dry_run to start the jobs.",
        )

    @contextmanager
    def record(self, jobs: list[Job]) -> Iterator[tuple[Sweep, list[int]]]:
        """Write the files from which the sweep can be resumed; at the end of the block, report the outcome of each job.

        Yields:
            The sweep, to which jobs may be added, and a list that collects signals; a signal stops the sweep.

        Raises:
            SystemExit: at the end of the block, if a signal stopped the sweep or a job is neither completed nor pruned.
        """
        if self.is_resumed:
            sweep = Sweep.read(self.folder)
            sweep.record.pop("finished", None)
        else:
            sweep = Sweep(self.folder, sys.argv[1:], jobs, {"started": format_now()})
        sweep.write()
        OmegaConf.save(self.config, self.folder / "multirun.yaml")
        with stop.on_signals(self.folder) as signals:
            yield sweep, signals
        self._report(sweep, signals)

    def launch(self, jobs: Sequence[Job], pruning: Mapping[str, object] | None = None) -> None:
        """Run jobs with the launcher, and record their outcomes in their folders.

        Args:
            pruning: options of the pruning callback, except the number of the trial; None disables pruning.

        Raises:
            UserError: if the launcher cannot be loaded.
        """
        jobs_by_folder = {job.folder: job for job in jobs}
        redirect_output = self.config.hydra.runtime.choices.get("hydra/launcher") != "basic"
        shared = self.composer.shared
        task = Task(self.module, Path.cwd(), self.folder, jobs_by_folder, shared, redirect_output, pruning)
        launch(jobs, task, self.hydra_context, self.config)

    def _report(self, sweep: Sweep, signals: Sequence[int]) -> None:
        from src.sweep.table import outcome_table, show

        outcomes = [read_outcome(self.folder / job.folder) for job in sweep.jobs]
        sweep.record["finished"] = format_now()
        sweep.write(outcomes)
        counts = Counter(outcome.status for outcome in outcomes)
        summary = ", ".join(f"{count} {status}" for status, count in sorted(counts.items()))
        show(outcome_table(sweep.jobs, outcomes, self.composer.shared), f"{summary}. Output folder: {self.folder}/")
        is_completed = set(counts) <= set(DONE)
        if not is_completed:
            show(f"To run the remaining jobs: python -m src.train {_resume_argument(self.folder)}")
        if signals:
            raise SystemExit(128 + signals[0])
        if not is_completed:
            raise SystemExit(1)


def _resume_argument(folder: Path) -> str:
    """Return the shell argument that resumes the sweep in a folder; the path is relative if possible."""
    current = Path.cwd()
    path = str(folder.relative_to(current) if folder.is_relative_to(current) else folder)
    return shlex.quote(f"sweep.resume={quote_if_needed(path)}")

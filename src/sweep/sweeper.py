"""Run a sweep: plan its jobs, record them, pass them to a launcher and report their outcomes."""

import logging
import shlex
import signal
import sys
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

from hydra.core.plugins import Plugins
from hydra.core.utils import JobReturn, run_job
from hydra.types import HydraContext
from omegaconf import DictConfig, OmegaConf, read_write

from src.config.compose import ConfigFiles, combinations
from src.config.quoting import quote, quote_if_needed
from src.errors import UserError
from src.extras import plugin_install_hint
from src.files import lock_folder, write_text
from src.formatting import format_count, format_now
from src.process import announce, handle_signals
from src.run_result import RunResult
from src.sweep.jobs import DONE, current_result, describe, pending_jobs, shared_overrides
from src.sweep.preflight import compose_job, parse_overrides, validate_jobs
from src.sweep.run import STOP_FILE, JobNotCompleted, Task, die_with_parent
from src.sweep.table import plan_table, result_table, show
from src.sweep_record import SWEEP_FILE, Job, Sweep

log = logging.getLogger(__name__)


class SweepRunner:
    """Runs the steps that a grid and a search have in common.

    Args:
        config: the sweep's own configuration.

    Attributes:
        shared: overrides that all jobs share; the names of the jobs' folders omit them.
        signals: the signals that were received; after the first one, no further job starts.

    Raises:
        UserError: if the folder contains another sweep, or none that can be resumed.
    """

    def __init__(self, hydra_context: HydraContext, config: DictConfig) -> None:
        self.hydra_context = hydra_context
        self.config = config
        self.files = ConfigFiles.of(config)
        self.folder = Path(str(config.hydra.sweep.dir)).absolute()
        self.is_dry_run = bool(config.sweep.dry_run)
        self.shared: Collection[str] = ()
        self.signals: list[int] = []
        if config.sweep.resume is not None:
            self.sweep = Sweep.read(self.folder)
        elif (self.folder / SWEEP_FILE).exists():
            raise UserError(
                f"{self.folder} already contains a sweep: resume it with sweep.resume={self.folder}, or choose another "
                "hydra.sweep.dir"
            )
        else:
            self.sweep = Sweep(arguments=sys.argv[1:])

    def pending(self) -> list[Job]:
        return pending_jobs(self.sweep, self.folder)

    def plan(self, requests: Iterable[tuple[int, list[str]]]) -> list[Job]:
        """Return the requested jobs, with their folders, if all of them can run.

        Args:
            requests: number and overrides of each job.

        Raises:
            UserError: if a job cannot run; the message lists all mistakes.
        """
        composed = [compose_job(self.files, self.config, *request, self.shared) for request in requests]
        jobs = validate_jobs(composed, self.shared)
        log.info("Validated %s", format_count(len(jobs), "job"))
        return jobs

    def run_grid(self, overrides: list[str], batch_size: int | None) -> None:
        """Run every combination of the values in the overrides, or, in a resumed sweep, the jobs that are missing.

        Args:
            batch_size: number of jobs that are passed to the launcher at a time; None passes all jobs at once.
        """
        resumed = [job.overrides for job in self.sweep.jobs]
        jobs = resumed or list(combinations(parse_overrides(self.files, self.config, overrides)))
        self.shared = shared_overrides(jobs)
        if not resumed:
            self.sweep.jobs = self.plan(enumerate(jobs))
        pending = self.pending()
        if resumed and pending:
            self.plan([(job.number, job.overrides) for job in pending])
        if self.is_dry_run:
            others = len(self.sweep.jobs) - len(pending)
            more = f" ({others} more are completed or pruned)" if others else ""
            show(plan_table(pending, self.shared), f"{format_count(len(pending), 'job')}{more}.", self.nothing_started)
            return
        with self.recorded():
            size = batch_size or len(pending) or 1
            for start in range(0, len(pending), size):
                self.launch(pending[start : start + size])

    @property
    def nothing_started(self) -> str:
        return f"Output folder: {self.folder}/. Nothing was started: remove sweep.dry_run to start the jobs."

    @contextmanager
    def recorded(self) -> Iterator[None]:
        """Write the files from which the sweep can be resumed; at the end of the block, report the outcome of each job.

        Raises:
            UserError: if another process runs the sweep.
            SystemExit: at the end of the block, if a signal stopped the sweep or a job is neither completed nor pruned.
        """
        with lock_folder(self.folder) as acquired:
            if not acquired:
                raise UserError(f"another process is running the sweep in {self.folder}: wait until it ends")
            self.sweep.finished = None
            self.sweep.write(self.folder)
            write_text(self.folder / "multirun.yaml", OmegaConf.to_yaml(self.config))
            with self._stopped_by_signals():
                yield
            results = [(job, current_result(self.folder / job.folder)) for job in self.sweep.jobs]
            self.sweep.jobs = [job.model_copy(update={"status": result.status}) for job, result in results]
            self.sweep.finished = format_now()
            self.sweep.write(self.folder)
        self._report(results)

    def launch(self, jobs: Sequence[Job], pruning: Mapping[str, object] | None = None) -> None:
        """Run jobs with the launcher, unless a signal was received.

        Args:
            jobs: at least one job.
            pruning: options of the pruning callback, except the number of the trial; None disables pruning.

        Raises:
            UserError: if the launcher cannot be loaded.
        """
        if self.signals:
            return
        is_basic = self.config.hydra.runtime.choices.get("hydra/launcher") == "basic"
        task = Task(Path.cwd(), self.folder, {job.folder: job for job in jobs}, self.shared, not is_basic, pruning)
        try:
            results = self._run_here(task, jobs) if is_basic else self._run_in_launcher(task, jobs)
        except UserError:
            raise
        except Exception as error:  # for example, a worker died; the folders record which jobs are completed
            log.error("The launcher failed: %s: %s", type(error).__name__, error)
            return
        for job, result in zip(jobs, results, strict=False):
            value = result._return_value
            if isinstance(value, Exception) and not isinstance(value, JobNotCompleted):
                log.error("Job #%d could not be run", job.number, exc_info=value)

    def _run_here(self, task: Task, jobs: Sequence[Job]) -> list[JobReturn]:
        """Run one job after another, as Hydra's basic launcher does, without composing their configurations again."""
        results = []
        for job in jobs:
            log.info("#%d %s", job.number, describe(job, self.shared))
            cfg = compose_job(self.files, self.config, job.number, job.overrides, self.shared).cfg
            with read_write(cfg.hydra):
                cfg.hydra.sweep.subdir = job.folder
            results.append(run_job(task, cfg, "hydra.sweep.dir", "hydra.sweep.subdir", self.hydra_context, False))
        return results

    def _run_in_launcher(self, task: Task, jobs: Sequence[Job]) -> Sequence[JobReturn]:
        overrides = [[*job.overrides, f"hydra.sweep.subdir={quote(job.folder)}"] for job in jobs]
        try:
            launcher = Plugins.instance().instantiate_launcher(self.hydra_context, task, self.config)
        except (RuntimeError, ImportError) as error:
            name = self.config.hydra.runtime.choices.get("hydra/launcher")
            reason = str(error).strip().splitlines()[0]
            raise UserError(
                f"hydra/launcher={name} cannot be loaded ({reason}); {plugin_install_hint(name)}"
            ) from error
        if isinstance(workers := getattr(launcher, "joblib", None), dict):  # joblib's options for workers
            workers["initializer"] = die_with_parent
        return launcher.launch(overrides, initial_job_idx=jobs[0].number)

    @contextmanager
    def _stopped_by_signals(self) -> Iterator[None]:
        """Within the block, stop the sweep gracefully on Ctrl-C, SIGTERM or SIGHUP, and immediately on a second signal.

        A file in the sweep's folder passes the signal to jobs on all machines, also to those that did not start yet.
        """

        def handle(signum: int, frame: FrameType | None) -> None:
            self.signals.append(signum)
            if len(self.signals) > 1:
                raise KeyboardInterrupt
            write_text(self.folder / STOP_FILE, str(signum))
            name = signal.Signals(signum).name
            announce(
                f"\n{name}: saving and stopping the running jobs; the other jobs stay pending. "
                "A second signal stops all jobs immediately"
            )

        (self.folder / STOP_FILE).unlink(missing_ok=True)
        with handle_signals(handle):
            yield

    def _report(self, results: Sequence[tuple[Job, RunResult]]) -> None:
        """Print the results, and how to resume the sweep.

        Raises:
            SystemExit: if a signal stopped the sweep, or a job is neither completed nor pruned.
        """
        counts = Counter(result.status for _, result in results)
        summary = ", ".join(f"{count} {status}" for status, count in sorted(counts.items()))
        show(result_table(results, self.shared), f"{summary}. Output folder: {self.folder}/")
        is_completed = set(counts) <= set(DONE)
        if not is_completed:
            folder = self.folder
            path = str(folder.relative_to(Path.cwd()) if folder.is_relative_to(Path.cwd()) else folder)
            argument = shlex.quote(f"sweep.resume={quote_if_needed(path)}")
            show(f"To run the remaining jobs: python -m src.train {argument}")
        if self.signals:
            raise SystemExit(128 + self.signals[0])
        if not is_completed:
            raise SystemExit(1)

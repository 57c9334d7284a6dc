"""Run a sweep: plan its jobs, record them, pass them to a launcher and report their outcomes."""

import logging
import os
import shlex
import signal
import sys
import sysconfig
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import FrameType

from hydra.core.plugins import Plugins
from hydra.types import HydraContext
from omegaconf import DictConfig, OmegaConf

from heedful.base.errors import UserError
from heedful.base.files import lock_folder, remove_parts, write_text
from heedful.base.formatting import format_count
from heedful.base.optional_packages import plugin_install_hint
from heedful.base.process import announce, handle_signals, typed
from heedful.config.compose import ConfigFiles
from heedful.config.keys import is_within
from heedful.config.overrides import combinations, full_name, path_of, quote
from heedful.launch.resume import OF_A_SWEEP
from heedful.report.data_section import data_section
from heedful.report.numbers import format_known
from heedful.report.section import Section, Table
from heedful.report.terminal import OutputConsole, render_terminal
from heedful.runs.result import RunResult
from heedful.runs.sweep_record import SWEEP_FILE, Job, Sweep
from heedful.sweep.job import STOP_FILE, JobRunner, outcome, recorded_result, score_label, set_up_worker
from heedful.sweep.plan import compose_job, grid, parse_overrides, validate_jobs

log = logging.getLogger(__name__)


class SweepRunner:
    """Runs the steps that a grid and a search have in common; `config` is that of the sweep, not of a job."""

    def __init__(self, hydra_context: HydraContext, config: DictConfig) -> None:
        os.environ["PYTHONPATH"] = worker_path()  # before a process is started, also the server of `job_context`
        self.hydra_context = hydra_context
        self.config = config
        self.files = ConfigFiles.of(config, "train")
        # Hydra's launcher would merge the files again for each job
        hydra_context.config_loader.load_sweep_config = partial(compose_job, self.files)  # type: ignore[method-assign]
        self.folder = Path(str(config.hydra.sweep.dir)).absolute()
        self.objective: DictConfig | None = None  # of a search: the options of callbacks.best_checkpoint
        self.signals: list[int] = []  # those that were received; after the first one, no further job starts
        if config.sweep.resume is not None:
            self.sweep = Sweep.read(self.folder)
        elif (self.folder / SWEEP_FILE).exists():
            raise UserError(
                f"{self.folder} already contains a sweep: resume it with sweep.resume={self.folder}, or choose another "
                "hydra.sweep.dir"
            )
        else:
            self.sweep = Sweep(arguments=[*map(full_name, sys.argv[1:])])

    def run_grid(self, overrides: list[str], batch_size: int | None) -> None:
        """Run every combination of the values in the overrides, or, in a resumed sweep, the jobs that are missing."""
        if not self.sweep.jobs:
            self.sweep.jobs = grid(combinations(parse_overrides(self.files, self.config, overrides)))
        pending = self.pending()
        self.validate(pending)
        if self.config.sweep.dry_run:
            self.show_plan(pending, f"{format_count(len(pending), 'job')} of {len(self.sweep.jobs)}")
            return
        with self.recorded():
            size = batch_size or len(pending) or 1
            for start in range(0, len(pending), size):
                self.launch(pending[start : start + size])

    def validate(self, jobs: Sequence[Job]) -> None:
        """Validate jobs, and print a description of their data."""
        found = validate_jobs(self.files, self.config, jobs)
        log.info("Validated %s", format_count(len(jobs), "job"))
        for folder, data in found.items():
            if section := data_section(data):
                title = section.title if len(found) == 1 else f"{section.title} of {folder}"
                OutputConsole().print(render_terminal([replace(section, title=title)]))

    def pending(self) -> list[Job]:
        """Return the jobs that are not completed."""
        return [job for job in self.sweep.jobs if recorded_result(self.folder / job.folder).status != "completed"]

    def show_plan(self, jobs: Sequence[Job], title: str) -> None:
        rows = [[job.folder, shlex.join(job.overrides)] for job in jobs]
        table = Table(["job", "overrides"], rows, text_columns=frozenset(["overrides"]))
        OutputConsole().print(render_terminal([Section(title, [table])]))
        announce(f"Output folder: {self.folder}/. Nothing was started: remove sweep.dry_run to start the jobs.")

    @contextmanager
    def recorded(self) -> Iterator[None]:
        """Write the files from which the sweep can be resumed; at the end of the block, report the outcome of each job.

        A signal stops the sweep gracefully: a file in its folder passes the signal to jobs on all machines, also to
        those that did not start yet. A second signal stops the sweep immediately.

        Raises:
            UserError: if another process runs the sweep.
            SystemExit: at the end of the block, if a signal stopped the sweep or a job is not completed.
        """
        with lock_folder(self.folder) as acquired:
            if not acquired:
                raise UserError(f"another process is running the sweep in {self.folder}: wait until it ends")
            remove_parts(self.folder, "")
            self.sweep.write(self.folder)
            write_text(self.folder / "multirun.yaml", OmegaConf.to_yaml(self.config))
            (self.folder / STOP_FILE).unlink(missing_ok=True)
            with handle_signals(self._stop):
                yield
            self._report()

    def _stop(self, signum: int, frame: FrameType | None) -> None:
        self.signals.append(signum)
        if len(self.signals) > 1:
            raise KeyboardInterrupt
        write_text(self.folder / STOP_FILE, str(signum))
        announce(
            f"\n{signal.Signals(signum).name}: saving and stopping the running jobs; the other jobs stay pending. "
            "A second signal stops all jobs immediately"
        )

    def launch(self, jobs: Sequence[Job]) -> None:
        """Run one or more jobs with the launcher, unless a signal was received."""
        if self.signals:
            return
        name = self.config.hydra.runtime.choices.get("hydra/launcher")
        task = JobRunner(Path.cwd(), self.folder, {job.folder: job for job in jobs}, name != "basic")
        try:
            launcher = Plugins.instance().instantiate_launcher(self.hydra_context, task, self.config)
        except (RuntimeError, ImportError) as error:
            raise UserError(f"hydra/launcher={name} cannot be loaded: {plugin_install_hint(name)}") from error
        if isinstance(workers := getattr(launcher, "joblib", None), dict):  # joblib's options for workers
            workers["initializer"] = set_up_worker
        overrides = [[*job.overrides, f"hydra.sweep.subdir={quote(job.folder)}"] for job in jobs]
        try:
            results = launcher.launch(overrides, initial_job_idx=jobs[0].number)
        except Exception as error:  # for example, a worker died; the folders record which jobs are completed
            log.error("The launcher failed: %s: %s", type(error).__name__, error)
            return
        for job, result in zip(jobs, results, strict=False):
            if isinstance(result._return_value, Exception):
                log.error("%s could not be run", job.folder, exc_info=result._return_value)

    def _report(self) -> None:
        """Print the results and how to resume the sweep, and exit if it is not completed."""
        results = [(job, recorded_result(self.folder / job.folder)) for job in self.sweep.jobs]
        head = ["job", "status", score_label([result for _, result in results]), "time", "reason"]
        rows = [[job.folder, *outcome(result)] for job, result in results]
        if self.objective:
            head.insert(2, self.objective.monitor)
            for row, (_, result) in zip(rows, results, strict=True):
                row.insert(2, format_known(result.best.value, "{:.4f}"))
        counts = sorted(Counter(result.status for _, result in results).items())
        OutputConsole().print(render_terminal([Section("Sweep", [Table(head, rows)])]))
        announce(f"{', '.join(f'{count} {status}' for status, count in counts)}. Output folder: {self.folder}/")
        self._announce_best(results)
        is_completed = all(status == "completed" for status, _ in counts)
        if not is_completed:
            argument = shlex.quote(f"sweep.resume={quote(f'{self.folder}/')}")
            announce(f"To run the remaining jobs: {typed('train')} {argument}")
        if self.signals or not is_completed:
            raise SystemExit(128 + self.signals[0] if self.signals else 1)

    def _announce_best(self, results: Sequence[tuple[Job, RunResult]]) -> None:
        """Print the best trial of a search: its value, its checkpoint, and the command that repeats it."""
        completed = [(job, result.best) for job, result in results if result.status == "completed"]
        trials = [(best.value, job, best) for job, best in completed if best.value is not None]
        if self.objective is None or not trials:
            return
        choose = max if (trials[0][2].mode or self.objective.mode) == "max" else min
        value, job, best = choose(trials, key=lambda trial: trial[0])
        announce(f"Best: {self.objective.monitor}={value:.4g}: {self.folder / job.folder / (best.checkpoint or '')}")
        overrides = [line for line in job.overrides if not is_within(path_of(line), OF_A_SWEEP)]
        announce(f"To repeat it: {typed('train')} {shlex.join([*self.files.arguments, *overrides])}")


def worker_path() -> str:
    """Return the PYTHONPATH of launchers' workers: the current folder, with mine.py, and the package of a clone."""
    package = str(Path(__file__).parents[2])
    paths = [path for path in (os.getcwd(), package) if path in sys.path and path != sysconfig.get_path("purelib")]
    return os.pathsep.join(dict.fromkeys([*paths, *filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))]))

"""The sweeper that `-m` starts: it runs every combination of the values on the command line, or a search."""

from collections.abc import Mapping
from typing import Any

from hydra.plugins import sweeper
from hydra.types import HydraContext, TaskFunction
from omegaconf import DictConfig

from src.errors import UserError
from src.sweep.compose import expand_combinations
from src.sweep.jobs import FILE, Sweep, shared_overrides
from src.sweep.runner import SweepRunner


class GridOrSearch(sweeper.Sweeper):
    """Runs every combination of the values on the command line, or the jobs that a search samples.

    Args:
        max_batch_size: number of jobs that are passed to the launcher at a time; None passes all jobs at once.
        params: the values of each option, written as on the command line; the command line itself takes precedence.
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

    def setup(self, *, hydra_context: HydraContext, task_function: TaskFunction, config: DictConfig) -> None:
        self.runner = SweepRunner(hydra_context, task_function, config)

    def sweep(self, arguments: list[str]) -> None:
        """Run the sweep.

        Raises:
            UserError: if a job cannot run, or the folder contains another sweep.
            SystemExit: with 128 plus the signal's number after a signal, otherwise with 1 if a job is neither completed
                nor pruned.
        """
        self.runner.require_own_folder()
        overrides = [f"{key}={value}" for key, value in self.params.items()]  # the command line takes precedence
        overrides += [argument for argument in arguments if not argument.lstrip("+").startswith("sweep.")]
        if self.search is None:
            self._run_combinations(overrides)
        else:
            self._run_search(self.search, overrides)

    def _run_search(self, options: Mapping[str, Any], overrides: list[str]) -> None:
        from src.sweep.search import Search

        Search(self.runner, overrides, **options).run()

    def _run_combinations(self, overrides: list[str]) -> None:
        runner = self.runner
        if runner.is_resumed:
            jobs = Sweep.read(runner.folder).jobs
            if not jobs:
                raise UserError(f"{runner.folder / FILE} lists no jobs: start the sweep anew")
            runner.composer.shared = shared_overrides([job.overrides for job in jobs])
            pending = runner.pending(jobs)
            runner.validate([(job.number, job.overrides) for job in pending])
        else:
            combinations = expand_combinations(overrides, runner.loader)
            runner.composer.shared = shared_overrides(combinations)
            jobs = pending = runner.validate(list(enumerate(combinations)))
        if runner.is_dry_run:
            runner.print_plan(pending, completed=len(jobs) - len(pending))
            return
        batch_size = self.max_batch_size or len(pending) or 1
        with runner.record(jobs) as (_, signals):
            for start in range(0, len(pending), batch_size):
                if not signals:
                    runner.launch(pending[start : start + batch_size])

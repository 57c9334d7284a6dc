"""Heedful's sweeper as a Hydra plugin: it runs every combination of the values on the command line, or a search.

Hydra accepts sweepers only in the package hydra_plugins, and imports them when it starts.
"""

from collections.abc import Mapping

from hydra.plugins import sweeper
from hydra.types import HydraContext, TaskFunction
from omegaconf import DictConfig


class Sweeper(sweeper.Sweeper):
    """Runs every combination of the values on the command line, or the jobs that a search samples.

    Args:
        max_batch_size: number of jobs that are passed to the launcher at a time; None passes all jobs at once.
        params: the values of each option, written as on the command line; the command line itself takes precedence.
        search: options of `heedful.sweep.search.run_search`; None runs every combination.
    """

    def __init__(self, max_batch_size: int | None, params: Mapping[str, str], search: DictConfig | None) -> None:
        self.max_batch_size, self.params, self.search = max_batch_size, params, search

    def setup(self, *, hydra_context: HydraContext, task_function: TaskFunction, config: DictConfig) -> None:
        self._context, self._config = hydra_context, config

    def sweep(self, arguments: list[str]) -> None:
        """Run the sweep.

        Raises:
            UserError: if a job cannot run, or the folder contains another sweep.
            SystemExit: with 128 plus the signal's number after a signal, otherwise with 1 if a job is not completed.
        """
        from heedful.sweep.sweeper import SweepRunner
        from heedful.tasks.stored import trusting

        overrides = [f"{key}={value}" for key, value in self.params.items()]  # the command line takes precedence
        overrides += [argument for argument in arguments if not argument.lstrip("+").startswith("sweep.")]
        runner = SweepRunner(self._context, self._config)
        with trusting(self._config.extras.trusted_modules or ()):
            if self.search is None:
                runner.run_grid(overrides, self.max_batch_size)
            else:
                from heedful.sweep.search import run_search

                run_search(runner, overrides, self.search)

"""The interface of loggers that also receive what Lightning does not log."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from pytorch_lightning.loggers import Logger

from heedful.runs.result import RunResult
from heedful.training.build import prefix_errors


def log_options(loggers: Iterable[Logger], config: Any) -> None:
    """Log a configuration; an error of a server or a database is a UserError."""
    for logger in loggers:
        with prefix_errors(f"logger.{type(logger).__name__}"):
            logger.log_hyperparams(config)


class Tracker(Logger):
    """A Lightning logger that also logs a run's description, results and status."""

    def continue_run(self) -> None:
        """Continue the log of the earlier run in the same folder, before anything else is logged."""

    def describe(self, result: RunResult) -> None:
        """Log the choices of components, the variant and the overrides, before the training."""

    def show(self, result: RunResult, files: Sequence[Path], step: int) -> None:
        """Log the results of the test, with pictures (PNG) and pages (HTML)."""

    def close(self, result: RunResult) -> None:
        """Log the costs and the status, and end the log."""

"""The interface of loggers that also receive what Lightning does not log."""

from collections.abc import Sequence
from pathlib import Path

from pytorch_lightning.loggers import Logger

from src.run_result import RunResult


class Tracker(Logger):
    """A Lightning logger that also logs a run's description, results and status."""

    def continue_run(self) -> None:
        """Continue the log of the earlier run in the same folder, before anything else is logged."""

    def describe(self, result: RunResult) -> None:
        """Log the choices of components, the variant and the overrides, before the training."""

    def show(self, result: RunResult, folder: Path, files: Sequence[Path], step: int) -> None:
        """Log the results of the test: those in the folder of the run, pictures (PNG) and pages (HTML)."""

    def close(self, result: RunResult) -> None:
        """Log the costs and the status, and end the log."""

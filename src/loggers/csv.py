"""A logger that writes metrics to a CSV file, to which a resumed run appends."""

import csv
import os
from pathlib import Path

from pytorch_lightning.loggers import CSVLogger
from pytorch_lightning.loggers.csv_logs import ExperimentWriter
from pytorch_lightning.loggers.logger import rank_zero_experiment

FILE = "metrics.csv"


class Metrics(CSVLogger):
    """Lightning's CSV logger, which deletes an earlier file when it starts, unless `continue_file` was called first."""

    _continues = False

    def continue_file(self) -> None:
        """Append to the file of the earlier run."""
        self._continues = True

    @property
    @rank_zero_experiment
    def experiment(self) -> ExperimentWriter:
        """The writer of the file."""
        if self._experiment is None:
            metrics = Path(self.log_dir, FILE)
            earlier = metrics.with_name(f"{FILE}.part")
            if self._continues and metrics.exists():
                os.replace(metrics, earlier)  # the writer deletes an existing file with this name
            writer = super().experiment
            if earlier.exists():
                with earlier.open(newline="", encoding="utf-8") as file:
                    writer.metrics_keys = next(csv.reader(file))
                os.replace(earlier, metrics)
        return super().experiment

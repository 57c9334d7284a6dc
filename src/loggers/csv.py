"""Metrics in a CSV file that a resumed job continues."""

import csv
import os
from pathlib import Path

from pytorch_lightning.loggers import CSVLogger
from pytorch_lightning.loggers.csv_logs import ExperimentWriter
from pytorch_lightning.loggers.logger import rank_zero_experiment

FILE, BEFORE = "metrics.csv", "before.csv"


class Metrics(CSVLogger):
    """Lightning's CSV logger, which empties its folder; rows in `before.csv` are kept at the start of `metrics.csv`."""

    @property
    @rank_zero_experiment
    def experiment(self) -> ExperimentWriter:
        """The writer of the file."""
        if self._experiment is None:
            writer = super().experiment
            previous = Path(writer.log_dir, BEFORE)
            if previous.exists():
                with previous.open(newline="", encoding="utf-8") as file:
                    writer.metrics_keys = next(csv.reader(file))
                os.replace(previous, writer.metrics_file_path)
        return super().experiment

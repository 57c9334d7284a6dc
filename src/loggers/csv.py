"""Metrics in a CSV file, which a resumed job goes on with."""

import csv
import os
from pathlib import Path

from pytorch_lightning.loggers import CSVLogger
from pytorch_lightning.loggers.csv_logs import ExperimentWriter
from pytorch_lightning.loggers.logger import rank_zero_experiment

FILE, BEFORE = "metrics.csv", "before.csv"


class Metrics(CSVLogger):
    """Lightning's, which empties its folder, but for the rows in `before.csv`: these come first in `metrics.csv`."""

    @property
    @rank_zero_experiment
    def experiment(self) -> ExperimentWriter:
        """What writes the file."""
        if self._experiment is None:
            writer = super().experiment
            before = Path(writer.log_dir, BEFORE)
            if before.exists():
                with before.open(newline="", encoding="utf-8") as file:
                    writer.metrics_keys = next(csv.reader(file))
                os.replace(before, writer.metrics_file_path)
        return super().experiment

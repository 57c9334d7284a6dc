"""A logger that writes metrics to a CSV file, to which a resumed run appends."""

import csv
import warnings
from pathlib import Path

from pytorch_lightning.loggers import CSVLogger
from pytorch_lightning.loggers.csv_logs import ExperimentWriter
from pytorch_lightning.loggers.logger import rank_zero_experiment

FILE = "metrics.csv"


class Metrics(CSVLogger):
    """Lightning's CSV logger, except that it appends to an existing file instead of deleting it."""

    @property
    @rank_zero_experiment
    def experiment(self) -> ExperimentWriter:
        """The writer of the file."""
        file = Path(self.log_dir, FILE)
        if self._experiment is not None or not file.exists():
            return super().experiment
        aside = file.replace(file.with_name(f"{FILE}.part"))  # the new writer deletes an existing file
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Lightning warns that it deletes the files in the folder
            writer = super().experiment
        with aside.open(newline="", encoding="utf-8") as rows:
            writer.metrics_keys = next(csv.reader(rows))
        aside.replace(file)
        return writer

"""A logger that writes metrics to a CSV file, to which a resumed run appends."""

import csv
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pytorch_lightning.loggers import CSVLogger
from pytorch_lightning.loggers.logger import rank_zero_experiment

from heedful.base.files import replace_atomically, write_yaml


class Metrics(CSVLogger):
    """Lightning's CSV logger, except that it keeps the rows of an existing file, also if the process is killed."""

    @property
    @rank_zero_experiment
    def experiment(self) -> "MetricsFile":
        if self._experiment is None:
            self._experiment: Any = MetricsFile(Path(self.log_dir))
        return self._experiment


class MetricsFile:
    """Writes metrics.csv, whose columns are sorted, and hparams.yaml, with the interface of Lightning's writer."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "metrics.csv"
        self.metrics: list[dict[str, Any]] = []  # the rows that are not written yet

    def log_hparams(self, params: dict[str, Any]) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        write_yaml(self.path.with_name("hparams.yaml"), params)

    def log_metrics(self, metrics: Mapping[str, Any], step: int) -> None:
        self.metrics.append({**metrics, "step": step})

    def save(self) -> None:
        """Append the rows; if they have new columns, replace the file."""
        if not self.metrics:
            return
        rows, self.metrics = self.metrics, []
        names = {name for row in rows for name in row}
        columns: list[str] = []
        earlier: list[dict[str, Any]] = []
        if self.path.exists():
            with self.path.open(newline="", encoding="utf-8") as file:
                reader = csv.DictReader(file)
                columns = list(reader.fieldnames or [])
                earlier = [] if names.issubset(columns) else list(reader)
        if names.issubset(columns):
            with self.path.open("a", newline="", encoding="utf-8") as file:
                csv.DictWriter(file, columns).writerows(rows)
            return
        with replace_atomically(self.path) as part, part.open("w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, sorted(names.union(columns)))
            writer.writeheader()
            writer.writerows([*earlier, *rows])

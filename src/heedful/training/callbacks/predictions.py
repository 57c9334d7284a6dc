"""A callback that saves the predictions of an evaluation for tables, figures and comparisons."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytorch_lightning as pl

from heedful.base.errors import UserError
from heedful.base.files import number_names
from heedful.data.source import Source, source_of
from heedful.data.tables import CHUNK, Rows, write_table
from heedful.runs.run_files import Predictions
from heedful.tasks.task import Task


class PredictionWriter(pl.Callback):
    """Writes the predictions of an evaluation outside training, in the order of the split, and keeps them by split.

    `<folder>/<split>.npz` has the arrays, and `<folder>/<split>.csv` a table with the origin of each text.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.predictions: dict[str, Predictions] = {}

    def _write(self, trainer: pl.Trainer, module: Any, split: str) -> None:
        if trainer.state.fn == "fit":
            return
        evaluated = module.evaluated
        if not np.isfinite(evaluated["probabilities"]).all():
            raise UserError(
                f"the model returned {split} probabilities that are not finite: use trainer.precision=32-true, or "
                "train with a smaller optimizer.lr"
            )
        if trainer.is_global_zero:
            data = source_of(trainer)
            predictions = Predictions.of(split, module.task, evaluated, data.groups(split))
            predictions.save(self.folder)
            self.predictions[split] = predictions
            self._write_table(data, module.task, split, **evaluated)

    def _write_table(
        self, data: Source, task: Task, split: str, probabilities: np.ndarray, labels: np.ndarray, index: np.ndarray
    ) -> None:
        """Write a table for people: the origin of each text, and its true class, predicted class and probabilities."""
        own = ["label", "predicted", *(f"probability_{name}" for name in data.class_names)]
        origin = data.origins(split, [])
        columns = [*origin, *number_names(own, taken=origin)]

        def chunks() -> Iterator[Rows]:
            for start in range(0, len(index), CHUNK):
                part = slice(start, start + CHUNK)
                predicted = task.predicted(probabilities[part])
                classes = map(task.decode, (labels[part], predicted))
                values = probabilities[part].T[: len(data.class_names)].astype(np.float64).round(6).tolist()
                cells = [*data.origins(split, index[part]).values(), *classes, *values]
                yield Rows(split, "row", index[part].tolist(), dict(zip(columns, cells, strict=True)))

        write_table(self.folder / f"{split}.csv", columns, chunks())

    def on_validation_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        self._write(trainer, pl_module, "val")

    def on_test_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        self._write(trainer, pl_module, "test")

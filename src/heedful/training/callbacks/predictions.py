"""A callback that saves the predictions of an evaluation for tables, figures and comparisons."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytorch_lightning as pl

from heedful.base.errors import UserError
from heedful.data.source import Source, source_of
from heedful.data.table import join_parts
from heedful.data.tables import CHUNK, Rows, write_table
from heedful.data.trained_texts import find_trained
from heedful.runs.run_files import Predictions, table_columns


class PredictionWriter(pl.Callback):
    """Writes the predictions of an evaluation outside training, in the order of the split, and keeps them by split.

    `<folder>/<split>.npz` has the arrays, and `<folder>/<split>.csv` a table with the origin of each text.
    """

    def __init__(self, folder: Path, keep_texts: bool = True) -> None:
        self.folder, self.keep_texts = folder, keep_texts
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
            self._write_table(module, data, split)

    def _write_table(self, module: Any, data: Source, split: str) -> None:
        """Write origins, true and predicted classes, probabilities, whether a model was trained on it, and texts."""
        task, columns = module.task, table_columns(data.origins(split, []), data.class_names)
        probabilities, labels, index = (module.evaluated[name] for name in ("probabilities", "labels", "index"))
        tokenized = data.tokenized(split)
        in_train, models = np.full(len(tokenized.labels), None), module.ensemble().members
        trained = [member.card.trained_on(data) for member in models]
        if (found := find_trained(tokenized.digests, tokenized.token_digests, trained)) is not None:
            is_trained, is_checked = found
            in_train[is_checked] = is_trained[is_checked]

        def chunks() -> Iterator[Rows]:
            for start in range(0, len(index), CHUNK):
                part = slice(start, start + CHUNK)
                predicted = task.predicted(probabilities[part])
                classes = map(task.decode, (labels[part], predicted))
                values = probabilities[part].T[: len(data.class_names)].astype(np.float64).round(6).tolist()
                rows = index[part].tolist()
                texts = map(join_parts, data.texts(split, rows)) if self.keep_texts else [None] * len(rows)
                cells = [*data.origins(split, index[part]).values(), *classes, *values, in_train[rows].tolist(), texts]
                yield Rows(split, "row", rows, dict(zip(columns, map(list, cells), strict=True)))

        write_table(self.folder / f"{split}.csv", columns, chunks())

    def on_validation_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        self._write(trainer, pl_module, "val")

    def on_test_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        self._write(trainer, pl_module, "test")

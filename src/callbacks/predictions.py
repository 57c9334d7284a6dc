"""A callback that saves the predictions of an evaluation for tables, figures and comparisons."""

from pathlib import Path
from typing import Any

import numpy as np
import pytorch_lightning as pl
import torch
from torch import Tensor

from src.errors import UserError
from src.files import write_arrays


class Predictions(pl.Callback):
    """Writes the predictions of an evaluation outside training to `<folder>/<split>.npz`, in the order of the split."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._batches: list[dict[str, Tensor]] = []

    def _write(self, trainer: pl.Trainer, split: str) -> None:
        if not self._batches:
            return
        columns = {key: torch.cat([batch[key] for batch in self._batches]).cpu().numpy() for key in self._batches[0]}
        self._batches = []
        if trainer.world_size > 1:
            shards: list[Any] = [None] * trainer.world_size
            torch.distributed.all_gather_object(shards, columns)
            columns = {key: np.concatenate([shard[key] for shard in shards]) for key in columns}
        if not np.isfinite(columns["probabilities"]).all():
            raise UserError(
                f"the model returned {split} probabilities that are not finite: use trainer.precision=32-true, or "
                "train with a smaller optimizer.lr"
            )
        index, rows = np.unique(columns["index"], return_index=True)
        if trainer.is_global_zero:
            write_arrays(
                self.folder / f"{split}.npz",
                probabilities=columns["probabilities"][rows].astype(np.float32),
                labels=columns["labels"][rows],
                index=index,
                class_names=np.array(trainer.datamodule.class_names),  # type: ignore[attr-defined]
            )

    def on_test_batch_end(self, trainer: pl.Trainer, pl_module: Any, outputs: Any, *args: Any, **options: Any) -> None:
        if trainer.state.fn != "fit":
            self._batches.append(outputs)

    on_validation_batch_end = on_test_batch_end

    def on_validation_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        self._write(trainer, "val")

    def on_test_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        self._write(trainer, "test")

"""A callback that saves the predictions of an evaluation for tables, figures and comparisons."""

from pathlib import Path
from typing import Any

import numpy as np
import pytorch_lightning as pl

from src.errors import UserError
from src.files import write_arrays


class Predictions(pl.Callback):
    """Writes the predictions of an evaluation outside training to `<folder>/<split>.npz`, in the order of the split."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

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
            names = np.array(trainer.datamodule.class_names)  # type: ignore[attr-defined]
            write_arrays(self.folder / f"{split}.npz", **evaluated, class_names=names)

    def on_validation_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        self._write(trainer, pl_module, "val")

    def on_test_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        self._write(trainer, pl_module, "test")

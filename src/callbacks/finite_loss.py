"""A loss that is no number stops the run, and the step where it began is named."""

from typing import Any

import pytorch_lightning as pl
import torch
from torch import Tensor

from src.errors import UserError


class FiniteLoss(pl.Callback):
    """Stops training when the loss is NaN or infinite.

    The loss is looked at where it lies, and fetched from the device every few steps only, so that a GPU never waits.

    Args:
        every_n_steps: steps between two looks, at least 1; the first bad step is named all the same.

    Raises:
        ValueError: if `every_n_steps` is below 1.
    """

    def __init__(self, every_n_steps: int = 25) -> None:
        if every_n_steps < 1:
            raise ValueError(f"every_n_steps={every_n_steps} must be at least 1")
        self.every_n_steps = every_n_steps
        self._losses: list[Tensor] = []

    def on_train_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        self._losses = []

    def on_train_batch_end(
        self, trainer: pl.Trainer, pl_module: pl.LightningModule, outputs: Any, batch: Any, batch_idx: int
    ) -> None:
        self._losses.append(outputs["loss"].detach())
        if len(self._losses) >= self.every_n_steps or trainer.fit_loop.epoch_loop.batch_progress.is_last_batch:
            self._look(trainer, batch_idx)

    def _look(self, trainer: pl.Trainer, batch_idx: int) -> None:
        bad = (~torch.isfinite(torch.stack(self._losses))).nonzero()
        if len(bad):
            at = int(bad[0])
            step = batch_idx - (len(self._losses) - 1) + at
            raise UserError(
                f"the loss became {self._losses[at].item()} at batch {step} of epoch {trainer.current_epoch}, so "
                f"training stopped; try a smaller optimizer.lr or trainer.gradient_clip_val=1.0"
            )
        self._losses = []

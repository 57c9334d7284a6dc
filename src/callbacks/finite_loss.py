"""A callback that stops a run whose loss is NaN or infinite, and reports the first batch with such a loss."""

from typing import Annotated, Any

import pytorch_lightning as pl
import torch
from pydantic import Field
from torch import Tensor

from src.errors import UserError


class FiniteLoss(pl.Callback):
    """Stops training with a `UserError` when the loss is NaN or infinite.

    The losses stay on the device and are checked every few batches, so that training does not wait for the GPU after
    each batch.
    """

    def __init__(self, every_n_steps: Annotated[int, Field(ge=1)] = 25) -> None:
        self.every_n_steps = every_n_steps
        self._losses: list[Tensor] = []

    def on_train_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        self._losses = []

    def on_train_batch_end(
        self, trainer: pl.Trainer, pl_module: pl.LightningModule, outputs: Any, batch: Any, batch_idx: int
    ) -> None:
        self._losses.append(outputs["loss"].detach())
        if len(self._losses) >= self.every_n_steps or trainer.fit_loop.epoch_loop.batch_progress.is_last_batch:
            self._check(trainer, batch_idx)

    def _check(self, trainer: pl.Trainer, batch_idx: int) -> None:
        nonfinite = (~torch.isfinite(torch.stack(self._losses))).nonzero()
        if len(nonfinite):
            index = int(nonfinite[0])
            batch, epoch = batch_idx + 2 - len(self._losses) + index, trainer.current_epoch + 1  # both count from 1
            raise UserError(
                f"the loss became {self._losses[index].item()} at batch {batch} of epoch {epoch}, so training stopped; "
                "try a smaller optimizer.lr or trainer.gradient_clip_val=1.0"
            )
        self._losses = []

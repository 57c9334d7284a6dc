"""A callback that measures the speed of training and evaluation."""

import time
from typing import Any

import pytorch_lightning as pl

from heedful.data.padded_batches import Batch
from heedful.runs.environment import peak_memory
from heedful.runs.result import PeakMemory


class Speed(pl.Callback):
    """Measures the duration of each training epoch, without the validation at its end, and counts the texts.

    A resumed run continues the measurements from its checkpoint.
    """

    def __init__(self) -> None:
        self.epochs: list[tuple[int, float]] = []  # texts and seconds of each complete training epoch
        self.test_seconds: float | None = None
        self.peak_memory: PeakMemory | None = None  # until the end of the test
        self._texts = 0  # texts in the unfinished epoch
        self._start = 0.0
        self._seconds = 0.0  # duration of the unfinished epoch before training was resumed

    def state_dict(self) -> dict[str, Any]:
        seconds = time.perf_counter() - self._start if self._texts else 0.0
        return {"epochs": self.epochs, "unfinished": (self._texts, seconds)}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        self.epochs, (self._texts, self._seconds) = state_dict["epochs"], state_dict["unfinished"]

    def on_train_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        # after a resume within an epoch, Lightning does not call on_train_epoch_start
        self._start = time.perf_counter() - self._seconds

    def on_train_epoch_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        self._texts = 0
        self._start = time.perf_counter()

    def on_train_batch_end(
        self, trainer: pl.Trainer, pl_module: pl.LightningModule, outputs: Any, batch: Batch, batch_idx: int
    ) -> None:
        self._texts += len(batch.targets)
        if trainer.fit_loop.epoch_loop.batch_progress.is_last_batch:
            outputs["loss"].item()  # item() waits for the device
            seconds = time.perf_counter() - self._start
            self.epochs.append((self._texts, seconds))
            pl_module.log("train/texts_per_second", self._texts / seconds, on_epoch=True, on_step=False, logger=False)
            self._texts = 0

    def on_test_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        self._start = time.perf_counter()

    def on_test_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        self.test_seconds = time.perf_counter() - self._start
        self.peak_memory = peak_memory()

    @property
    def texts_per_second(self) -> float | None:
        """The mean speed of training over all complete epochs; None before the end of the first epoch."""
        texts, seconds = (sum(column) for column in zip(*self.epochs, strict=True)) if self.epochs else (0, 0.0)
        return texts / seconds if seconds else None

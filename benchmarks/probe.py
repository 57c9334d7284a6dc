"""A callback that records the costs of a training process: `+callbacks.probe._target_=benchmarks.probe.Probe`."""

import json
import os
import time
from pathlib import Path
from typing import Any

import pytorch_lightning as pl

from benchmarks import memory
from src.data import padded_batches
from src.data.padded_batches import Batch


class Probe(pl.Callback):
    """Writes the CPU seconds to the first training step, the seconds of each training epoch, and the memory use.

    CPU seconds include all threads of this process, and child processes that have ended. Resident memory is measured
    every ten steps.

    Args:
        path: JSON file, which is written when the training ends.
        significant_bits: number of significant bits of the padded lengths; None means Heed's default.
    """

    def __init__(self, path: str, significant_bits: int | None = None) -> None:
        self.path = Path(path)
        if significant_bits is not None:
            padded_batches.SIGNIFICANT_BITS = significant_bits
        self.resident: list[tuple[int, float]] = []
        self.texts = 0
        self.cpu_seconds: float | None = None
        self.epochs: list[float] = []
        self._start = 0.0

    def on_train_epoch_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        self._start = time.perf_counter()
        self.texts = 0

    def on_train_batch_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule, *batch: Any) -> None:
        if self.cpu_seconds is None:
            self.cpu_seconds = sum(os.times()[:4])

    def on_train_batch_end(
        self, trainer: pl.Trainer, pl_module: pl.LightningModule, outputs: Any, batch: Batch, batch_idx: int
    ) -> None:
        self.texts += len(batch.labels)
        if trainer.global_step % 10 == 0 and (megabytes := memory.megabytes("VmRSS")) is not None:
            self.resident.append((trainer.global_step, megabytes))
        if trainer.fit_loop.epoch_loop.batch_progress.is_last_batch:
            self.epochs.append(time.perf_counter() - self._start)

    def on_fit_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        record = {
            **memory.used(),
            "cpu_seconds": self.cpu_seconds,
            "epochs": self.epochs,
            "texts": self.texts,
            "resident": self.resident,
        }
        self.path.write_text(json.dumps(record), encoding="utf-8")

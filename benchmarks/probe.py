"""A callback that writes the costs of its process: `+callbacks.probe._target_=benchmarks.probe.Probe`."""

import json
import os
import time
from pathlib import Path
from typing import Any

import pytorch_lightning as pl

from benchmarks import memory


class Probe(pl.Callback):
    """Writes CPU seconds to the first training step, seconds of the training epochs, and peak memory.

    CPU seconds include all threads of this process and the child processes that have ended.

    Args:
        path: the JSON file to write when the training ends.
    """

    def __init__(self, path: str) -> None:
        self.path = Path(path)
        self.cpu_seconds: float | None = None
        self.epochs: list[float] = []
        self._start = 0.0

    def on_train_epoch_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        self._start = time.perf_counter()

    def on_train_batch_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule, *batch: Any) -> None:
        if self.cpu_seconds is None:
            self.cpu_seconds = sum(os.times()[:4])

    def on_train_batch_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule, *batch: Any) -> None:
        if trainer.fit_loop.epoch_loop.batch_progress.is_last_batch:
            self.epochs.append(time.perf_counter() - self._start)

    def on_fit_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        record = {**memory.used(), "cpu_seconds": self.cpu_seconds, "epochs": self.epochs}
        self.path.write_text(json.dumps(record), encoding="utf-8")

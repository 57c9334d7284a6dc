"""Limits the unused memory of the heap during training."""

from typing import Any

import pytorch_lightning as pl

from src.kernels.heap import resident_bytes, return_unused_memory

SMALLEST_LIMIT = 256 * 2**20  # bytes; a smaller heap is never returned


class HeapLimit(pl.Callback):
    """Returns unused memory to the system when the process has grown beyond a limit.

    Heed makes malloc reuse freed memory (`src.kernels.malloc`), which is fast. But batches differ in length, so that
    gaps remain between the blocks of different steps, and the heap grows to a multiple of the memory that one step
    needs. Returning the gaps takes about as long as one or two steps, so it must not happen often.

    The need of a step is the growth of resident memory from the start of training to the end of this step, if the
    unused memory was returned just before the step. The limit on the growth is `factor` times the largest need so far,
    but at least 256 MiB.

    Args:
        factor: limit as a multiple of the largest need of a step, at least 1; a smaller factor saves memory and takes
            more time.

    Raises:
        ValueError: if `factor` is below 1.
    """

    def __init__(self, factor: float = 1.75) -> None:
        if factor < 1:
            raise ValueError(f"factor={factor} must be at least 1")
        self.factor = factor
        self._start: int | None = None  # resident bytes at the start of training
        self._largest_need = 0  # bytes
        self._is_compact = False  # whether unused memory was returned just before the current step

    def on_train_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        self._return_memory()
        self._start = resident_bytes()
        self._largest_need = 0

    def on_train_batch_end(
        self, trainer: pl.Trainer, pl_module: pl.LightningModule, outputs: Any, batch: Any, batch_idx: int
    ) -> None:
        resident = resident_bytes()
        if resident is None or self._start is None:
            return
        growth = resident - self._start
        if self._is_compact:
            self._largest_need = max(self._largest_need, growth)
            self._is_compact = False
        if growth > max(self.factor * self._largest_need, SMALLEST_LIMIT):
            self._return_memory()

    def _return_memory(self) -> None:
        return_unused_memory()
        self._is_compact = True

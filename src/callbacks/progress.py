"""The progress of training: a bar on a terminal, and one line for each epoch."""

import math
import os
import sys
import time
from typing import Any

import pytorch_lightning as pl
from pytorch_lightning.callbacks import ModelCheckpoint, RichProgressBar

from src.formatting import format_count, format_duration
from src.process import announce
from src.run_log import write_log

SHOWN = ("val/acc",)  # scores beside the bar
METRICS = ("train/loss", "train/acc", "val/loss", "val/acc")


class Progress(RichProgressBar):
    """Prints a line after each training epoch and writes it to the log file; on a terminal, also shows a progress bar.

    The line shows the epoch, losses and scores, the speed of training, and the time left. The time left is the mean
    time of a step since training started or resumed, including validation, multiplied by the number of remaining steps.
    Early stopping can make the training shorter.
    """

    _start = 0.0
    _start_step = 0
    _is_validated = False  # whether validation has run in this epoch

    def setup(self, trainer: pl.Trainer, pl_module: pl.LightningModule, stage: str) -> None:
        super().setup(trainer, pl_module, stage)
        if not sys.stdout.isatty() or os.environ.get("TERM") == "dumb":
            self.disable()

    def on_train_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        super().on_train_start(trainer, pl_module)
        self._start, self._start_step = time.monotonic(), trainer.global_step

    def on_train_epoch_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        super().on_train_epoch_start(trainer, pl_module)
        self._is_validated = False

    def on_validation_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        super().on_validation_end(trainer, pl_module)
        self._is_validated = True

    def on_train_epoch_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        super().on_train_epoch_end(trainer, pl_module)
        self._show(trainer, self._describe_epoch(trainer))

    def on_train_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        super().on_train_end(trainer, pl_module)
        stopping = trainer.early_stopping_callback
        if stopping is not None and stopping.stopped_epoch:
            if stopping.wait_count >= stopping.patience:
                reason = f"did not improve in {format_count(stopping.wait_count, 'validation')}"
            else:
                reason = "reached a threshold or is not finite"
            self._show(trainer, f"Stopped early: {stopping.monitor} {reason}")

    def teardown(self, trainer: pl.Trainer, pl_module: pl.LightningModule, stage: str) -> None:
        if self.progress is not None:
            self.progress.live.transient = True  # erases the bar at the end; the lines of the epochs remain
        super().teardown(trainer, pl_module, stage)

    def get_metrics(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> dict[str, Any]:
        """Return the scores that are shown beside the bar; the line for each epoch shows more."""
        return {name: trainer.callback_metrics[name].item() for name in SHOWN if name in trainer.callback_metrics}

    def _get_train_description(self, current_epoch: int) -> str:
        count = _total_epochs(self.trainer)
        return f"Epoch {current_epoch + 1}" + (f"/{count}" if count else "")

    def _describe_epoch(self, trainer: pl.Trainer) -> str:
        """Return a line such as "Epoch 3 of 5: train/loss 0.412, …, val/acc 0.845, 1,234 texts/s, 4 min left"."""
        checkpoint, metrics = trainer.checkpoint_callback, trainer.callback_metrics
        monitor = checkpoint.monitor if isinstance(checkpoint, ModelCheckpoint) else None
        names = [name for name in dict.fromkeys((*METRICS, monitor)) if name in metrics]
        facts = [
            f"{name} {metrics[name].item():{'#.4g' if name.endswith('loss') else '.3f'}}"
            for name in names
            if self._is_validated or not name.startswith("val/")
        ]
        if "train/texts_per_second" in metrics:
            facts.append(f"{metrics['train/texts_per_second'].item():,.0f} texts/s")
        count = _total_epochs(trainer)
        steps = trainer.global_step - self._start_step
        remaining = _total_steps(trainer) - trainer.global_step
        if count and steps and remaining > 0:
            facts.append(f"{format_duration((time.monotonic() - self._start) / steps * remaining)} left")
        return f"Epoch {trainer.current_epoch + 1}" + (f" of {count}" if count else "") + ": " + ", ".join(facts)

    def _show(self, trainer: pl.Trainer, line: str) -> None:
        """Print a line, above the progress bar if it is shown, and write the line to the log file."""
        if not trainer.is_global_zero:
            return
        if self.progress is not None and self.is_enabled:
            self.progress.console.print(line, markup=False, highlight=False, soft_wrap=True)
        else:
            announce(line)  # a closed pipe, as in `| head`, does not end the training
        write_log(line)


def _steps_per_epoch(trainer: pl.Trainer) -> int:
    return math.ceil(trainer.num_training_batches / trainer.accumulate_grad_batches)


def _total_steps(trainer: pl.Trainer) -> float:
    """Return the number of steps of the whole training; infinite if neither steps nor epochs are limited.

    Lightning's `estimated_stepping_batches` fails if max_epochs is None.
    """
    limits = [trainer.max_steps] if trainer.max_steps >= 0 else []
    if trainer.max_epochs is not None and trainer.max_epochs >= 0:
        limits.append(trainer.max_epochs * _steps_per_epoch(trainer))
    return min(limits, default=math.inf)


def _total_epochs(trainer: pl.Trainer) -> int | None:
    """Return the number of epochs, including a partial last epoch; None if neither steps nor epochs are limited."""
    steps = _total_steps(trainer)
    return None if steps == math.inf else math.ceil(steps / _steps_per_epoch(trainer))

"""The progress of training: a bar on a terminal, and one line for each epoch."""

import os
import sys
from typing import Any

import pytorch_lightning as pl
from pytorch_lightning.callbacks import ModelCheckpoint, RichProgressBar

from heedful.base.process import announce, write_log
from heedful.base.progress import Pace

METRICS = ("train/loss", "train/acc", "val/loss")


class Progress(RichProgressBar):
    """Prints a line after each training epoch and writes it to the log file; on a terminal, also shows a bar.

    Without a terminal, long epochs have lines, too.
    """

    def setup(self, trainer: pl.Trainer, pl_module: pl.LightningModule, stage: str) -> None:
        super().setup(trainer, pl_module, stage)
        if not sys.stdout.isatty() or os.environ.get("TERM") == "dumb":
            self.disable()
        self._pace = Pace()

    def on_train_batch_end(self, trainer: pl.Trainer, pl_module: Any, outputs: Any, batch: Any, batch_idx: int) -> None:
        if not self.is_disabled:
            super().on_train_batch_end(trainer, pl_module, outputs, batch, batch_idx)
        elif self._pace.is_due():
            steps = f"{batch_idx + 1:,} of {int(trainer.num_training_batches):,} batches"
            self._show(trainer, f"{_describe_number(trainer, trainer.current_epoch, ' of ')}: {steps}")

    def on_train_epoch_end(self, trainer: pl.Trainer, pl_module: Any) -> None:
        super().on_train_epoch_end(trainer, pl_module)
        self._show(trainer, _describe_epoch(trainer, pl_module.is_validated, _main_score(pl_module)))

    def on_fit_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        stopping = trainer.early_stopping_callback
        if stopping is not None and (reason := stopping.stopping_reason_message):
            self._show(trainer, f"Stopped early: {reason.removesuffix(' Signaling Trainer to stop.')}")

    def teardown(self, trainer: pl.Trainer, pl_module: pl.LightningModule, stage: str) -> None:
        if self.progress is not None:
            self.progress.live.transient = True  # erases the bar at the end; the lines of the epochs remain
        super().teardown(trainer, pl_module, stage)

    def get_metrics(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> dict[str, Any]:
        """Return the score that is shown beside the bar; the line for each epoch shows more."""
        name = _main_score(pl_module)
        return {name: trainer.callback_metrics[name].item()} if name in trainer.callback_metrics else {}

    def _get_train_description(self, current_epoch: int) -> str:
        return _describe_number(self.trainer, current_epoch, "/")

    def _show(self, trainer: pl.Trainer, line: str) -> None:
        """Print a line, above the progress bar if it is shown, and write the line to the log file."""
        if not trainer.is_global_zero:
            return
        if self.progress is not None and self.is_enabled:
            self.progress.console.print(line, markup=False, highlight=False, soft_wrap=True)
        else:
            announce(line)  # a closed pipe, as in `| head`, does not end the training
        write_log(line)


def _main_score(module: Any) -> str:
    return f"val/{module.task.main_score}"


def _describe_epoch(trainer: pl.Trainer, is_validated: bool, score: str) -> str:
    """Return a line such as "Epoch 3 of 5: train/loss 0.412, …, 1,234 texts/s"; the main score follows METRICS."""
    checkpoint, metrics = trainer.checkpoint_callback, trainer.callback_metrics
    monitor = checkpoint.monitor if isinstance(checkpoint, ModelCheckpoint) else None
    facts = [
        f"{name} {metrics[name].item():{'#.4g' if name.endswith('loss') else '.3f'}}"
        for name in dict.fromkeys((*METRICS, score, monitor))
        if name in metrics and (is_validated or not name.startswith("val/"))
    ]
    if "train/texts_per_second" in metrics:
        facts.append(f"{metrics['train/texts_per_second'].item():,.0f} texts/s")
    return _describe_number(trainer, trainer.current_epoch, " of ") + ": " + ", ".join(facts)


def _describe_number(trainer: pl.Trainer, epoch: int, separator: str) -> str:
    """Return a text such as "Epoch 3 of 5"; without the total if the number of steps is limited."""
    total = trainer.max_epochs or 0
    return f"Epoch {epoch + 1}" + (f"{separator}{total}" if total > 0 and trainer.max_steps < 0 else "")

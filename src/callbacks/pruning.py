"""Pruning: stops a job of a search that is worse than earlier jobs."""

from pathlib import Path

import pytorch_lightning as pl

from src.sweep.study import open_study


class Pruned(Exception):
    """The search pruned the job."""


class Pruning(pl.Callback):
    """Reports the monitored metric to the search after each epoch, and stops the job when the search prunes it.

    Args:
        journal: the study's file.
        trial: the job's number.
        monitor: the metric that is optimized.
        mode: min or max.
        startup: number of first trials that are never pruned.
        warmup: epochs before the job may be pruned.
    """

    def __init__(self, journal: str, trial: int, monitor: str, mode: str, startup: int, warmup: int) -> None:
        self.number, self.monitor = trial, monitor
        self.study = open_study(Path(journal), mode, startup, warmup)

    def on_train_epoch_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        from optuna.trial import Trial

        value = trainer.callback_metrics.get(self.monitor)
        if value is None:
            return
        frozen = self.study.trials[self.number]
        if trainer.current_epoch in frozen.intermediate_values:  # reported before the job was resumed
            return
        trial = Trial(self.study, frozen._trial_id)
        trial.report(value.item(), trainer.current_epoch)
        if trial.should_prune():
            raise Pruned(
                f"{self.monitor}={value.item():.4g} in epoch {trainer.current_epoch} is worse than in earlier jobs"
            )

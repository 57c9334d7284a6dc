"""Stopping a job of a search that does worse than those before it."""

from pathlib import Path

import pytorch_lightning as pl

from src.sweep.study import study_of


class Pruned(Exception):
    """The search has given the job up."""


class Pruning(pl.Callback):
    """Tells the search how validation goes, after each epoch, and stops the job when the search gives it up.

    Args:
        journal: the search's file.
        trial: the job's number.
        monitor: the metric that is searched for.
        mode: min or max.
        startup: trials that are never pruned.
        warmup: epochs before a job may be pruned.
    """

    def __init__(self, journal: str, trial: int, monitor: str, mode: str, startup: int, warmup: int) -> None:
        self.number, self.monitor = trial, monitor
        self.study = study_of(Path(journal), mode, startup, warmup)

    def on_train_epoch_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        from optuna.trial import Trial

        value = trainer.callback_metrics.get(self.monitor)
        if value is None:
            return
        frozen = self.study.trials[self.number]
        if trainer.current_epoch in frozen.intermediate_values:  # said before the job was resumed
            return
        trial = Trial(self.study, frozen._trial_id)
        trial.report(value.item(), trainer.current_epoch)
        if trial.should_prune():
            raise Pruned(f"{self.monitor}={value.item():.4g} in epoch {trainer.current_epoch} is worse than others'")

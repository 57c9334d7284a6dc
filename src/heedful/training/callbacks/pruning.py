"""A callback that stops a search job whose results are worse than the median of earlier jobs."""

from typing import Any, Literal

import pytorch_lightning as pl

from heedful.base.errors import UserError


class Pruned(Exception):
    """The search pruned the job."""


class Pruning(pl.Callback):
    """Reports the monitored metric to the search after each epoch, and stops the job when the search prunes it.

    The options are those of `open_study`; `trial` is the number of the job's trial in the study.
    """

    def __init__(
        self, storage: str, study: str, trial: int, monitor: str, mode: str, n_startup_trials: int, warmup: int
    ) -> None:
        self.number, self.monitor = trial, monitor
        self.study = open_study(storage, study, mode, n_startup_trials, warmup)

    def on_fit_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        if trainer.world_size > 1:
            raise UserError("a search with pruning needs one device per job: add hydra.sweeper.search.warmup=null")

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
                f"{self.monitor}={value.item():.4g} in epoch {trainer.current_epoch + 1} is worse than the median of "
                "earlier jobs"
            )


def direction_of(mode: str) -> Literal["minimize", "maximize"]:
    """Return Optuna's word for a mode of a checkpoint, min or max."""
    return "maximize" if mode == "max" else "minimize"


def open_study(storage: str, study: str, mode: str, n_startup_trials: int, warmup: int | None) -> Any:
    """Open or create an Optuna study in a storage that the search and its jobs share.

    Args:
        storage: URL of a database, or path of a journal; several processes and machines may write to it.
        study: name of the study.
        n_startup_trials: number of initial trials, which are never pruned.
        warmup: number of epochs before a job may be pruned; None disables pruning.
    """
    import optuna
    from optuna import pruners
    from optuna.storages.journal import JournalFileBackend, JournalStorage

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    return optuna.create_study(
        storage=storage if "://" in storage else JournalStorage(JournalFileBackend(storage)),
        study_name=study,
        direction=direction_of(mode),
        load_if_exists=True,
        pruner=pruners.NopPruner() if warmup is None else pruners.MedianPruner(n_startup_trials, n_warmup_steps=warmup),
    )

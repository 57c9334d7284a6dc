"""The Optuna study of a search, in a file that the sweep and its jobs share."""

from pathlib import Path
from typing import Any

NAME = "heed"


def open_study(journal: Path, mode: str = "min", startup: int = 0, warmup: int | None = None, seed: int = 0) -> Any:
    """Open the study in a file, or create it.

    Args:
        journal: the file; several processes and machines may write to it.
        mode: min or max.
        startup: number of first trials that are sampled at random and never pruned.
        warmup: epochs before a job may be pruned; None disables pruning.
        seed: seed of the sampler.
    """
    import optuna
    from optuna.storages.journal import JournalFileBackend, JournalStorage

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    pruners = optuna.pruners
    return optuna.create_study(
        storage=JournalStorage(JournalFileBackend(str(journal))),
        study_name=NAME,
        direction="maximize" if mode == "max" else "minimize",
        load_if_exists=True,
        sampler=optuna.samplers.TPESampler(seed=seed, n_startup_trials=startup, constant_liar=True),
        pruner=pruners.NopPruner() if warmup is None else pruners.MedianPruner(startup, n_warmup_steps=warmup),
    )

"""What a search remembers: a file that its sweep and its jobs read and write."""

from pathlib import Path
from typing import Any

NAME = "heed"


def study_of(journal: Path, mode: str = "min", startup: int = 0, warmup: int | None = None, seed: int = 0) -> Any:
    """The study that a file holds, a new one if there is none.

    Args:
        journal: the file, which several processes and machines may write.
        mode: min or max.
        startup: trials that are chosen at random and never pruned.
        warmup: epochs of a job before it may be pruned; None prunes none.
        seed: of the sampler.
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

"""Train and test a classifier: `heedful train model/attention=luong_general`."""

import os
from typing import TYPE_CHECKING

from omegaconf import DictConfig

from heedful.base.errors import UserError
from heedful.commands.entry import entry

if TYPE_CHECKING:
    from pytorch_lightning import Trainer

    from heedful.data.source import Source
    from heedful.runs.training_state import TrainingState
    from heedful.training.lit import LitClassifier


@entry("train")
def main(cfg: DictConfig) -> float | None:
    """Train and test a classifier, and return the value that a hyperparameter search optimizes.

    This is the monitored metric of the best checkpoint; None if there is no such checkpoint.
    """
    from heedful.runs.training_state import read_training_state
    from heedful.training import build
    from heedful.training.lit import LitClassifier
    from heedful.training.run import open_run

    with open_run(cfg, resumes=cfg.ckpt_path is not None) as run:
        trainer = build.trainer(cfg, run.callbacks)
        state = read_training_state(cfg.ckpt_path) if run.resumes else None
        data = build.datamodule(cfg)
        module = LitClassifier.untrained(cfg, run.card(data))
        if state is None:
            module.initialize(data, trainer.strategy.root_device)
        run.start(trainer, module, data, state)
        _fit(trainer, module, data, state)
        run.load_best(trainer, module)
        if cfg.test:
            loggers, trainer.loggers = trainer.loggers, []  # this validation is no point of the curves
            trainer.validate(module, data, verbose=False)
            trainer.loggers = loggers
            trainer.test(module, data, verbose=False)
            run.report(trainer, module)
    return run.result.best.value


def _fit(trainer: "Trainer", module: "LitClassifier", data: "Source", state: "TrainingState | None") -> None:
    """Train the model, from `state` if it is not None."""
    path = None if state is None else os.path.abspath(state.path)
    try:
        trainer.fit(module, data, ckpt_path=path, weights_only=True)
    except ValueError as error:
        if "val_check_interval" not in str(error):
            raise
        raise UserError(f"trainer: {str(error).strip()}") from error


if __name__ == "__main__":
    main()

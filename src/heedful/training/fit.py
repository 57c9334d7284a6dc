"""Train and test a classifier: what the command and Python's `train` have in common."""

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING

from omegaconf import DictConfig

from heedful.base.errors import UserError
from heedful.runs.environment import Launch
from heedful.runs.training_state import read_training_state
from heedful.training import build
from heedful.training.lit import LitClassifier
from heedful.training.run import Run, open_run

if TYPE_CHECKING:
    import datasets


def train_classifier(
    cfg: DictConfig, launch: Launch, sets: "Mapping[str, datasets.Dataset] | None" = None
) -> tuple[Run, LitClassifier]:
    """Train and test a classifier, on `sets` instead of the data that `cfg` names unless they are None."""
    with open_run(cfg, launch, resumes=cfg.ckpt_path is not None) as run:
        trainer = build.trainer(cfg, run.callbacks)
        state = read_training_state(cfg.ckpt_path) if run.resumes else None
        data = build.datamodule(cfg, sets=sets, resumed=None if state is None else state.card)
        if "val" not in data.sizes:
            build.train_without_validation(trainer)
        if cfg.test:
            data.tokenized("test")  # if there is no test split, this is reported now, not after the training
        module = LitClassifier.untrained(cfg, run.card(data))
        build.require_directions(cfg, module.metrics, data.task)
        if state is None:
            module.initialize(data, trainer.strategy.root_device)
        run.start(trainer, module, data, state)
        try:
            path = None if state is None else os.path.abspath(state.path)
            trainer.fit(module, data, ckpt_path=path, weights_only=True)
        except ValueError as error:
            if "val_check_interval" not in str(error):
                raise
            raise UserError(f"trainer: {str(error).strip()}") from error
        run.load_best(trainer, module)
        if cfg.test:
            if "val" in data.sizes:
                loggers, trainer.loggers = trainer.loggers, []  # this validation is no point of the curves
                trainer.validate(module, data, verbose=False)
                trainer.loggers = loggers
            trainer.test(module, data, verbose=False)
            run.report(trainer, module)
        module.model.stored_states = None  # of the training; from now on, texts are encoded as in other processes
    return run, module

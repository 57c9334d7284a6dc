"""Train and test a classifier: `python -m src.train model/attention=luong_general`."""

from typing import TYPE_CHECKING

from omegaconf import DictConfig

from src.cli.entry import entry
from src.errors import UserError

if TYPE_CHECKING:
    from pytorch_lightning import Trainer

    from src.data.datamodule import TextDataModule
    from src.lit import LitClassifier


@entry("train")
def main(cfg: DictConfig) -> float | None:
    """Train and test a classifier, and return the value that a hyperparameter search optimizes.

    This is the monitored metric of the best checkpoint; None if there is no such checkpoint or `cfg.test` is false.
    """
    from src import build
    from src.checkpoint import load_checkpoint
    from src.dry_build import dry_build
    from src.run import Run
    from src.training_state import require_resumable, require_same_data, require_same_parameters

    with Run(cfg) as run:
        dry_build(cfg)  # if the command line was validated, this checks only for missing components
        steps = require_resumable(cfg)
        loggers = build.loggers(cfg)
        is_new = steps is None and not run.folder.is_reused
        if is_new:  # in a reused folder, the earlier files remain until the data and the weights are loaded
            run.attach_loggers(loggers)
        trainer = build.trainer(cfg, run.callbacks, loggers)
        data = build.datamodule(cfg)
        module = build.module(cfg, run.card(data))
        if cfg.ckpt_path is not None:
            card, weights = load_checkpoint(cfg.ckpt_path)
            if steps is not None:
                require_same_data(cfg, card, data)
            build.load_weights(module, weights, cfg.ckpt_path)
            if steps is not None:
                require_same_parameters(cfg, module.model)
        elif cfg.train:
            module.model.load_pretrained()
        if not is_new:
            run.attach_loggers(loggers, steps)
        run.describe(data, module, trainer)
        if cfg.train:
            _fit(trainer, module, data, cfg.ckpt_path)
            run.stop.check()
        if cfg.test:
            best = run.select_checkpoint(trainer)
            trainer.validate(module, data, ckpt_path=best, weights_only=True, verbose=False)
            trainer.test(module, data, ckpt_path=best, weights_only=True, verbose=False)
            run.report(trainer)
    return run.result.best.value


def _fit(trainer: "Trainer", module: "LitClassifier", data: "TextDataModule", checkpoint: str | None) -> None:
    """Train the model.

    Raises:
        UserError: if an epoch has fewer batches than `trainer.val_check_interval`.
    """
    try:
        trainer.fit(module, data, ckpt_path=checkpoint, weights_only=True)
    except ValueError as error:
        if "val_check_interval" not in str(error):
            raise
        raise UserError(
            f"trainer.val_check_interval={trainer.val_check_interval}: must be at most "
            f"{trainer.num_training_batches:,}, the number of batches in an epoch"
        ) from error


if __name__ == "__main__":
    main()

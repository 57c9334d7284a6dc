"""Train and test a classifier: `python -m src.train model/attention=luong_general`."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from omegaconf import DictConfig

from src.cli.entry import entry
from src.errors import UserError

if TYPE_CHECKING:
    from pytorch_lightning import Trainer


@entry("train")
def main(cfg: DictConfig) -> float | None:
    """Run one training; return the score of the selected checkpoint, which a hyperparameter search optimizes."""
    from src import build
    from src.checkpoint import load_checkpoint
    from src.dry_build import dry_build
    from src.run import Run
    from src.training_state import require_resumable, require_same_data, require_same_parameters

    with Run(cfg) as run:
        dry_build(cfg)  # after a validated command line, this checks only for missing components
        steps = require_resumable(cfg)
        loggers = build.loggers(cfg)
        is_new = steps is None and not run.reuses_folder
        if is_new:  # otherwise the files of the earlier run are unchanged until the data and the weights are loaded
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
            with _convert_interval_error(trainer):
                trainer.fit(module, data, ckpt_path=cfg.ckpt_path, weights_only=True)
            run.stop.check()
        if cfg.test:
            best = run.select_checkpoint(trainer)
            trainer.validate(module, data, ckpt_path=best, weights_only=True, verbose=False)
            trainer.test(module, data, ckpt_path=best, weights_only=True, verbose=False)
            run.report(trainer)
    return run.result.best.value


@contextmanager
def _convert_interval_error(trainer: "Trainer") -> Iterator[None]:
    """Convert the error of a `val_check_interval` above the number of batches, which is known only during the block.

    Raises:
        UserError: if an epoch has fewer batches than `trainer.val_check_interval`.
    """
    try:
        yield
    except ValueError as error:
        if "val_check_interval" not in str(error):
            raise
        raise UserError(
            f"trainer.val_check_interval={trainer.val_check_interval}: must be at most "
            f"{trainer.num_training_batches:,}, the number of batches in an epoch"
        ) from error


if __name__ == "__main__":
    main()

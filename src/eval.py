"""Evaluate a checkpoint: `python -m src.eval ckpt_path=outputs/train/runs/…/checkpoints/best.ckpt`."""

from typing import TYPE_CHECKING

from omegaconf import DictConfig, OmegaConf

from src.cli.entry import entry
from src.config.targets import TRUSTED, TRUSTED_IN_CHECKPOINTS
from src.config.validation import validate_config

if TYPE_CHECKING:
    from src.checkpoint import Card


@entry("eval")
def main(cfg: DictConfig) -> None:
    """Evaluate a checkpoint on its own data, or on `data=…` with the same classes."""
    from src import build
    from src.run import Run

    with Run(cfg) as run:
        loggers = run.attach_loggers(build.loggers(cfg))
        card, parts = build.restore(cfg.ckpt_path, cfg.extras)
        trainer = build.trainer(cfg, run.callbacks, loggers)
        data = build.datamodule(with_data(cfg, card), card.codec)
        module = build.module(card.cfg, card, parts)
        run.describe(data, module, trainer)
        (trainer.test if cfg.split == "test" else trainer.validate)(module, data, verbose=False)
        run.report(trainer)


def with_data(cfg: DictConfig, card: "Card") -> DictConfig:
    """The configuration with the data to evaluate: those of `cfg`, or the checkpoint's with `+data.…=…` applied.

    Raises:
        UserError: if an option of the data is invalid, or a class is not trusted.
    """
    overrides = cfg.get("data") or {}
    is_other_set = "_target_" in overrides
    own = {**card.cfg.data, "cache_dir": None}  # a file must not choose a folder to write to
    data = overrides if is_other_set else OmegaConf.merge(own, overrides)
    merged = OmegaConf.create({"data": data, "extras": cfg.extras, "seed": cfg.seed})
    validate_config(merged, "eval", TRUSTED if is_other_set else TRUSTED_IN_CHECKPOINTS)
    return merged


if __name__ == "__main__":
    main()

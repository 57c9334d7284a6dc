"""Evaluate a checkpoint, `python -m src.eval ckpt_path=…/checkpoints/best.ckpt`, or several, `ckpt_path=[a,b,c]`."""

import logging
from typing import TYPE_CHECKING

from omegaconf import DictConfig, OmegaConf

from src.config.entry import entry
from src.config.keys import UNRELATED_TO_SPLITS
from src.config.places import TRUSTED, TRUSTED_IN_CHECKPOINTS
from src.config.schema import validate_config
from src.errors import UserError, name_file

if TYPE_CHECKING:
    from src.checkpoint import Card
    from src.data.padded_batches import BatchBuilder
    from src.explain import Ensemble

log = logging.getLogger(__name__)


@entry("eval")
def main(cfg: DictConfig) -> None:
    """Evaluate one checkpoint, or the mean probabilities of several, on `data=…` or on the first checkpoint's data."""
    from src import build
    from src.api import restore_ensemble
    from src.lit_ensemble import LitEnsemble
    from src.run import Run

    with Run(cfg) as run:
        loggers = build.loggers(cfg)
        ensemble = restore_ensemble(cfg.ckpt_path, cfg.extras)
        _, card, model, loss = ensemble.members[0]
        trainer = build.trainer(cfg, run.callbacks, loggers)
        data = build.datamodule(with_data(cfg, card), card.codec)
        metrics = build.metrics(cfg, len(card.class_counts))  # not a checkpoint's metrics, which may name any class
        if len(ensemble.members) == 1:
            module = build.module(card.cfg, card, (model, loss), metrics)
        else:
            _warn_of_other_data(ensemble)
            module = LitEnsemble(ensemble, [_own_batches(cfg, card, each.card) for each in ensemble.members], metrics)
        run.start(loggers, card)
        run.describe(data, module, trainer)
        (trainer.test if cfg.split == "test" else trainer.validate)(module, data, verbose=False)
        run.report(trainer)


def _own_batches(cfg: DictConfig, first: "Card", card: "Card") -> "BatchBuilder | None":
    """Return a batch builder for a model that tokenizes differently from the first model; otherwise, return None."""
    from src import build
    from src.data.padded_batches import BatchBuilder

    if card.codec.reads_as(first.codec):
        return None
    data = build.datamodule(with_data(cfg, first), card.codec)
    split = data.tokenized(cfg.split)
    return BatchBuilder(split.tokens, split.offsets, split.labels, data.truncation)


def _warn_of_other_data(ensemble: "Ensemble") -> None:
    """Warn about each model whose options select other data or splits than those of the first model.

    Such a model may have been trained on texts that are now evaluated.
    """
    first, *others = ensemble.members
    for member in others:
        own, reference = member.card.config["data"], first.card.config["data"]
        names = sorted({*own, *reference} - UNRELATED_TO_SPLITS)
        if options := [f"data.{name}" for name in names if own.get(name) != reference.get(name)]:
            log.warning(
                "%s was trained on other data than %s (they differ in %s): its training texts may include the "
                "evaluated texts",
                member.name,
                first.name,
                ", ".join(options),
            )


def with_data(cfg: DictConfig, card: "Card") -> DictConfig:
    """Return a configuration whose node `data` selects the data to evaluate.

    This node is `cfg.data` if `cfg.data` names a data set. Otherwise, it is the checkpoint's node without `cache_dir`,
    overridden by the options in `cfg.data`.

    Raises:
        UserError: if an option of the data is invalid, or a class is not trusted.
    """
    overrides = cfg.get("data") or {}
    others = {"extras": cfg.extras, "seed": cfg.seed}
    if "_target_" in overrides:  # another data set
        selected = OmegaConf.create({"data": overrides, **others})
        validate_config(selected, "eval", TRUSTED)
        return selected
    own = {**card.cfg.data, "cache_dir": None}  # a checkpoint must not choose a folder to write to
    merged = OmegaConf.create({"data": OmegaConf.merge(own, overrides), **others})
    try:
        validate_config(merged, "eval", TRUSTED_IN_CHECKPOINTS)
    except UserError:
        with name_file(cfg.ckpt_path if isinstance(cfg.ckpt_path, str) else cfg.ckpt_path[0]):
            validate_config(OmegaConf.create({"data": own, **others}), "eval", TRUSTED_IN_CHECKPOINTS)
        raise  # the mistake is in the overrides
    return merged


if __name__ == "__main__":
    main()

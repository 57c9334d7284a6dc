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
    from collections.abc import Sequence

    from src.checkpoint import Card
    from src.data.padded_batches import BatchBuilder

log = logging.getLogger(__name__)


@entry("eval")
def main(cfg: DictConfig) -> None:
    """Evaluate one checkpoint, or the mean probabilities of several, on `data=…` or on the first checkpoint's data."""
    from src import build
    from src.lit_ensemble import LitEnsemble
    from src.run import Run

    with Run(cfg) as run:
        loggers = build.loggers(cfg)
        cards, ensemble = build.restore_ensemble(cfg.ckpt_path, cfg.extras)
        card = cards[0]
        trainer = build.trainer(cfg, run.callbacks, loggers)
        data = build.datamodule(with_data(cfg, card), card.codec)
        metrics = build.metrics(cfg, len(card.class_counts))  # not a checkpoint's metrics, which may name any class
        if len(cards) == 1:
            module = build.module(card.cfg, card, (ensemble.members[0].model, ensemble.members[0].loss), metrics)
        else:
            _warn_of_other_data(cards, cfg)
            module = LitEnsemble(ensemble, [_own_batches(cfg, card, other) for other in cards], cards, metrics)
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


def _warn_of_other_data(cards: "Sequence[Card]", cfg: DictConfig) -> None:
    """Warn about each model whose options select other data or splits than the options of the first model do.

    Such a model may have been trained on texts that are now evaluated.
    """
    for card, name in zip(cards[1:], cfg.ckpt_path[1:], strict=True):
        own, first = card.config["data"], cards[0].config["data"]
        options = [
            option for option in sorted({*own, *first} - UNRELATED_TO_SPLITS) if own.get(option) != first.get(option)
        ]
        if options:
            log.warning(
                "%s was trained on other data than %s (they differ in data.%s): its training texts may include the "
                "evaluated texts",
                name,
                cfg.ckpt_path[0],
                ", data.".join(options),
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

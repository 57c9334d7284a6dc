"""The dry build: construct every component, with the model on torch's meta device, and collect all mistakes."""

import logging
import warnings
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from functools import partial

import torch
from omegaconf import DictConfig, OmegaConf

from src import build
from src.config.copying import copy_config
from src.config.metrics import default_metrics, metric_nodes
from src.config.mistakes import Mistake, format_mistakes
from src.config.plain import plain_values
from src.config.required import missing_components
from src.config.validation import is_validated
from src.dry_build.invalid_options import build_valid, try_build, without_options
from src.dry_build.model import build_model, dry_classifier, is_pretrained
from src.dry_build.optimizer import optimizer_mistakes
from src.errors import UserError


def dry_build(cfg: DictConfig) -> None:
    """Construct the components of a training run, with the model on the meta device, before the training starts.

    If the command line was validated, which includes a dry build, this function only checks for missing components.

    Raises:
        UserError: if a component is missing, an option is outside its range, components are incompatible, or the
            data file lacks a column; the message lists all mistakes.
    """
    if mistakes := list(missing_components(cfg)) or ([] if is_validated(cfg) else build_mistakes(cfg)):
        raise UserError(format_mistakes(mistakes))


def dry_optimizer(cfg: DictConfig) -> torch.optim.Optimizer | None:
    """Create the optimizer of a training run on the meta device; None if a component is pretrained or invalid."""
    if is_pretrained(cfg):
        return None
    with hide_warnings(), torch.random.fork_rng(devices=[]), torch.device("meta"):
        optimizer, _ = try_build(cfg, lambda cfg: build.optimizer(cfg, dry_classifier(cfg)))
    return optimizer


def build_mistakes(cfg: DictConfig, known: Collection[Mistake] = ()) -> list[Mistake]:
    """Find mistakes in the components of a training run, such as incompatible sizes or missing columns.

    An invalid option is reset to its default, so that further mistakes are found, too. Missing components are skipped,
    as are components that raise an exception other than a `UserError`, such as a user's own class that needs real data.

    Args:
        known: mistakes that are already reported; the options in them are reset to their defaults. If one of them
            concerns a class, nothing is built and no further mistake is returned.
    """
    if any("_target_" in entry for entry, _ in known):  # a class is wrong
        return []
    cfg = without_options(cfg, known)
    with hide_warnings(), torch.random.fork_rng(devices=[]):
        model, mistakes = build_model(cfg)
        if _is_present(cfg, "optimizer"):
            mistakes += optimizer_mistakes(cfg, model)
        for check in (_loss, _metrics, _data, _trainer):
            mistakes += check(cfg)
    return list(dict.fromkeys(mistakes))


def _loss(cfg: DictConfig) -> Iterator[Mistake]:
    """Find mistakes in the loss.

    The number of classes is still unknown, so the loss is built for two classes, and also for as many classes as there
    are class weights; the shorter list of mistakes is returned.
    """
    if not _is_present(cfg, "loss"):
        return
    weights = cfg.loss.get("class_weights")
    sizes = {2, len(weights) if OmegaConf.is_list(weights) and len(weights) > 1 else 2}

    def mistakes_for(size: int) -> list[Mistake]:
        return build_valid(cfg, "loss", lambda cfg: build.make(cfg, "loss", [1] * size)).mistakes

    yield from min(map(mistakes_for, sizes), key=len)


def _metrics(cfg: DictConfig) -> Iterator[Mistake]:
    """Find mistakes in metrics that are not default metrics.

    The number of classes is still unknown, so each metric is built for 2 and for 100 classes; the shorter list of its
    mistakes is returned.
    """
    for name in metric_nodes(plain_values(cfg)).keys() - default_metrics().keys():
        key = f"metrics.{name}"
        if _is_present(cfg, key):
            builds = [partial(build.metric, name=name, num_classes=size) for size in (2, 100)]
            yield from min((build_valid(cfg, key, make).mistakes for make in builds), key=len)


def _data(cfg: DictConfig) -> Iterator[Mistake]:
    if not _is_present(cfg, "data"):
        return
    yield from build_valid(cfg, "data", lambda cfg: build.make(cfg, "data")).mistakes


def _trainer(cfg: DictConfig) -> Iterator[Mistake]:
    for name in cfg.get("callbacks") or {}:
        path = f"callbacks.{name}"
        if _is_present(cfg, path):
            yield from build_valid(cfg, path, partial(build.make, key=path)).mistakes
    if _is_present(cfg, "trainer"):
        alone = copy_config(cfg)
        alone.callbacks = {}
        yield from build_valid(alone, "trainer", build.trainer).mistakes


def _is_present(cfg: DictConfig, path: str) -> bool:
    return OmegaConf.select(cfg, f"{path}._target_", throw_on_missing=False) is not None


@contextmanager
def hide_warnings() -> Iterator[None]:
    """Hide warnings and Lightning's messages in the block; the run shows them later, when it builds its components."""
    loggers = [logging.getLogger(name) for name in ("pytorch_lightning", "lightning_fabric")]
    levels = [logger.level for logger in loggers]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for logger in loggers:
            logger.setLevel(logging.ERROR)
        try:
            yield
        finally:
            for logger, level in zip(loggers, levels, strict=True):
                logger.setLevel(level)

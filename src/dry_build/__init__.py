"""The dry build: construct every component, the model on torch's meta device, and collect all errors."""

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
from src.dry_build.invalid_options import build_valid, check_mistakes, try_build, without_options
from src.dry_build.model import build_model, dry_classifier, is_pretrained
from src.dry_build.optimizer import optimizer_mistakes
from src.errors import UserError


def dry_build(cfg: DictConfig) -> None:
    """Construct the components of a training without memory for weights, before the training starts.

    A configuration that was built when its command line was validated is not built again.

    Raises:
        UserError: if a component is missing, an option is outside its range, components are incompatible, or the
            data file lacks a column; the message lists all mistakes.
    """
    if mistakes := list(missing_components(cfg)) or ([] if is_validated(cfg) else build_mistakes(cfg)):
        raise UserError(format_mistakes(mistakes))


def dry_optimizer(cfg: DictConfig) -> torch.optim.Optimizer | None:
    """Return the optimizer of a training with its parameter groups; None if a component is pretrained or invalid."""
    if is_pretrained(cfg):
        return None
    with hide_warnings(), torch.random.fork_rng(devices=[]), torch.device("meta"):
        optimizer, _ = try_build(cfg, lambda cfg: build.optimizer(cfg, dry_classifier(cfg)), strict=False)
    return optimizer


def build_mistakes(cfg: DictConfig, known: Collection[Mistake] = (), strict: bool = False) -> list[Mistake]:
    """Find mistakes in the components of a training run, such as incompatible sizes or missing columns.

    An invalid option is reset to its default, so that further errors are found, too.

    Args:
        cfg: the configuration; missing components are skipped.
        known: mistakes that are already reported; their options are omitted.
        strict: raise exceptions that are not `UserError`. Otherwise, skip a component that raises such an exception,
            for example a user's own class that needs real data.
    """
    if any("_target_" in entry for entry, _ in known):  # nothing is created from a configuration with a wrong class
        return []
    cfg = without_options(cfg, known)
    with hide_warnings(), torch.random.fork_rng(devices=[]):
        model, mistakes = build_model(cfg, strict)
        if _is_present(cfg, "optimizer"):
            mistakes += optimizer_mistakes(cfg, model, strict)
        for check in (_loss, _metrics, _data, _trainer):
            mistakes += check(cfg, strict)
    return list(dict.fromkeys(mistakes))


def _loss(cfg: DictConfig, strict: bool) -> Iterator[Mistake]:
    """Find mistakes in the loss, even if the number of classes is still unknown.

    The loss is built for two classes and for as many as it has class weights; the shorter list of mistakes is reported.
    """
    if not _is_present(cfg, "loss"):
        return
    weights = cfg.loss.get("class_weights")
    sizes = {2, len(weights) if OmegaConf.is_list(weights) and len(weights) > 1 else 2}

    def mistakes_for(size: int) -> list[Mistake]:
        return build_valid(cfg, "loss", lambda cfg: build.make(cfg, "loss", [1] * size), strict).mistakes

    yield from min(map(mistakes_for, sizes), key=len)


def _metrics(cfg: DictConfig, strict: bool) -> Iterator[Mistake]:
    """Check added metrics for 2 and for 100 classes, because the number of classes is still unknown."""
    for name in metric_nodes(plain_values(cfg)).keys() - default_metrics().keys():
        key = f"metrics.{name}"
        if _is_present(cfg, key):
            builds = [partial(build.metric, name=name, num_classes=size) for size in (2, 100)]
            yield from min((build_valid(cfg, key, make, strict).mistakes for make in builds), key=len)


def _data(cfg: DictConfig, strict: bool) -> Iterator[Mistake]:
    if not _is_present(cfg, "data"):
        return
    data, mistakes = build_valid(cfg, "data", lambda cfg: build.make(cfg, "data"), strict)
    yield from mistakes
    if data is not None:
        yield from check_mistakes(data.require_tokenizer, "data")
        yield from check_mistakes(data.require_columns, "data")


def _trainer(cfg: DictConfig, strict: bool) -> Iterator[Mistake]:
    for name in cfg.get("callbacks") or {}:
        path = f"callbacks.{name}"
        if _is_present(cfg, path):
            yield from build_valid(cfg, path, partial(build.make, key=path), strict).mistakes
    if _is_present(cfg, "trainer"):
        alone = copy_config(cfg)
        alone.callbacks = {}
        yield from build_valid(alone, "trainer", build.trainer, strict).mistakes


def _is_present(cfg: DictConfig, path: str) -> bool:
    return OmegaConf.select(cfg, f"{path}._target_", throw_on_missing=False) is not None


@contextmanager
def hide_warnings() -> Iterator[None]:
    """Hide warnings and messages of libraries in the block; the run itself shows them when it builds its Trainer."""
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

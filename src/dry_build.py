"""The dry build: construct every component on torch's meta device, and collect all errors."""

import logging
import warnings
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import torch
from omegaconf import DictConfig, OmegaConf

from src import build
from src.build.invalid_options import BuildResult, Make, build_valid, check_mistakes, try_build, without_options
from src.build.objects import class_at
from src.config.keys import PARTS
from src.config.metrics import default_metrics, metric_nodes
from src.config.mistakes import Mistake, format_mistakes
from src.config.options import of_class
from src.config.required import missing_components
from src.config.validation import is_validated
from src.config.values import describe_type, describe_value, matches_type
from src.data.trained_tokenizer import PAD, UNKNOWN
from src.errors import UserError
from src.formatting import format_value
from src.kernels.malloc import require_memory
from src.models.shapes import check_shapes

FEATURES = 128  # input size of a component if the one before it cannot be built


def dry_build(cfg: DictConfig) -> None:
    """Construct the components of a training without memory for weights, before anything is written or read.

    A configuration that was built with its command line is not built again.

    Raises:
        UserError: if a component is missing, an option is outside its range, components are incompatible, or the
            data file lacks a column; the message lists all mistakes.
    """
    if mistakes := list(missing_components(cfg)) or ([] if is_validated(cfg) else build_mistakes(cfg)):
        raise UserError(format_mistakes(mistakes))


def dry_optimizer(cfg: DictConfig) -> torch.optim.Optimizer | None:
    """The optimizer of a training with its parameter groups; None if a component cannot be built dry."""
    if _is_pretrained(cfg):
        return None
    with hide_warnings(), torch.random.fork_rng(devices=[]), torch.device("meta"):
        optimizer, _ = try_build(cfg, lambda cfg: build.optimizer(cfg, _classifier(cfg)), strict=False)
    return optimizer


def build_mistakes(cfg: DictConfig, known: Collection[Mistake] = (), strict: bool = False) -> list[Mistake]:
    """Find the errors of the components of a training: ranges, incompatible sizes, missing columns.

    An invalid option is reset to its default, so that further errors are found, too.

    Args:
        cfg: the configuration; missing components are skipped.
        known: mistakes that are already reported; their options are not tried.
        strict: raise exceptions that are not `UserError`. Otherwise a component that needs more than a dry build
            provides, such as a user's own class, is skipped.
    """
    if any("_target_" in entry for entry, _ in known):  # nothing is created from a configuration with a wrong class
        return []
    cfg = without_options(cfg, known)
    mistakes: list[Mistake] = []
    with hide_warnings(), torch.random.fork_rng(devices=[]):
        for check in (_model_and_optimizer, _loss, _metrics, _data, _trainer):
            mistakes += check(cfg, strict)
    return list(dict.fromkeys(mistakes))


def _model_and_optimizer(cfg: DictConfig, strict: bool) -> Iterator[Mistake]:
    with torch.device("meta"):
        model = None
        if all(_is_present(cfg, f"model.{part}") for part in PARTS) and not _is_pretrained(cfg):
            mistakes = list(_component_mistakes(cfg, strict))
            yield from mistakes
            if not mistakes:
                model, mistakes = build_valid(cfg, "model", _classifier, strict)
                yield from mistakes
        if model is not None:
            yield from check_mistakes(lambda: require_memory(model), "model")
            yield from check_mistakes(lambda: check_shapes(model, num_logits=1), "model")
    if not _is_present(cfg, "optimizer"):
        return

    def optimizer(cfg: DictConfig) -> Any:
        return build.make(cfg, "optimizer", [torch.nn.Parameter(torch.zeros(1))])

    component, mistakes = build_valid(cfg, "optimizer", optimizer, strict)
    yield from mistakes
    cfg = without_options(cfg, mistakes)
    param_groups = list(_param_group_mistakes(cfg, optimizer, component, strict))
    yield from param_groups
    if model is not None and component is not None and not mistakes and not param_groups:
        yield from build_valid(cfg, "optimizer", lambda cfg: build.optimizer(cfg, model), strict).mistakes
    if component is not None and _is_present(cfg, "scheduler"):
        yield from build_valid(
            cfg, "scheduler", lambda cfg: build.scheduler(cfg, optimizer(cfg), steps=1), strict
        ).mistakes


def _component_mistakes(cfg: DictConfig, strict: bool) -> Iterator[Mistake]:
    """Find errors of the model's components; each gets the output size of the one before it."""
    input_dim: Any = FEATURES
    is_exact = True  # whether the configuration determines `input_dim`
    for part in PARTS:
        component, mistakes = _build_component(cfg, part, input_dim, strict and is_exact)
        if mistakes and not is_exact:  # keep mistakes that do not depend on input_dim
            others = _build_component(cfg, part, input_dim + 1, strict=False).mistakes
            mistakes = [mistake for mistake in mistakes if mistake in others]
        if component is not None:
            mistakes += check_mistakes(component.require_files, f"model.{part}")
        yield from mistakes
        output = getattr(component, "output_dim", None)
        is_exact = is_exact and not mistakes and isinstance(output, int)
        input_dim = output if isinstance(output, int) else input_dim


def _build_component(cfg: DictConfig, part: str, input_dim: int, strict: bool) -> BuildResult:
    sizes: tuple[Any, ...] = (input_dim, 1) if part == "head" else (input_dim,)
    arguments = ((PAD, UNKNOWN),) if part == "embedding" else sizes
    return build_valid(cfg, f"model.{part}", lambda cfg: build.make(cfg, f"model.{part}", *arguments), strict)


def _param_group_mistakes(cfg: DictConfig, optimizer: Make, component: Any, strict: bool) -> Iterator[Mistake]:
    """Check the optimizer options of single components; torch accepts any."""
    for part, options in (cfg.get("param_groups") or {}).items():
        if not options:
            continue
        path = f"param_groups.{part}"
        if part not in PARTS:
            yield Mistake(path, f"no such component; the components are {', '.join(PARTS)}")
            continue
        if component is None:
            continue
        yield from check_mistakes(partial(build.require_options, options, component, path), path)
        takes = of_class(type(component)).options  # type: ignore[arg-type]  # it has a hash
        single = cfg.copy()
        plain: Any = OmegaConf.to_container(options, resolve=True)
        for name, value in plain.items():
            option = takes.get(name)
            if option is not None and not matches_type(value, option.hint):
                yield Mistake(
                    f"{path}.{name}={format_value(value)}",
                    f"expects {describe_type(option.hint)}, {describe_value(value)}",
                )
            elif name in component.defaults:
                OmegaConf.update(single, f"optimizer.{name}", value, force_add=True)
        for entry, message in build_valid(single, "optimizer", optimizer, strict).mistakes:
            yield Mistake(entry.replace("optimizer", path, 1), message)


def _loss(cfg: DictConfig, strict: bool) -> Iterator[Mistake]:
    """Check the loss for two classes and for as many as it has weights, because the number is not known yet."""
    if not _is_present(cfg, "loss"):
        return
    weights = cfg.loss.get("class_weights")
    sizes = {2, len(weights) if OmegaConf.is_list(weights) and len(weights) > 1 else 2}

    def mistakes_for(size: int) -> list[Mistake]:
        return build_valid(cfg, "loss", lambda cfg: build.make(cfg, "loss", [1] * size), strict).mistakes

    yield from min(map(mistakes_for, sizes), key=len)


def _metrics(cfg: DictConfig, strict: bool) -> Iterator[Mistake]:
    """Check added metrics for two classes and for many: the number is not known yet."""
    for name in metric_nodes(cfg).keys() - default_metrics().keys():
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
        alone = cfg.copy()
        alone.callbacks = {}
        yield from build_valid(alone, "trainer", build.trainer, strict).mistakes


def _classifier(cfg: DictConfig) -> Any:
    return build.classifier(cfg, (PAD, UNKNOWN), 1)


def _is_present(cfg: DictConfig, path: str) -> bool:
    return OmegaConf.select(cfg, f"{path}._target_", throw_on_missing=False) is not None


def _is_pretrained(cfg: DictConfig) -> bool:
    """Whether a component is pretrained; reading it takes long, so the dry build skips it."""
    return any(getattr(class_at(cfg, f"model.{part}"), "is_pretrained", False) for part in PARTS)


@contextmanager
def hide_warnings() -> Iterator[None]:
    """Hide the messages of libraries about the Trainer; they appear again when the run builds it."""
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

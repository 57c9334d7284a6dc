"""A dry build: every component is made without its numbers, and all that they refuse is reported together."""

import logging
import re
import sys
import warnings
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any, NamedTuple

import torch
from omegaconf import DictConfig, OmegaConf

from src import build
from src.config import signature
from src.config.mistakes import Mistake, format_mistakes, format_value
from src.config.required import PARTS, missing_components
from src.config.values import describe_type, describe_value, matches_type
from src.data.files import existing_file
from src.data.tokenizer import PAD, UNKNOWN, TokenizerBuilder
from src.errors import UserError
from src.kernels.malloc import require_memory
from src.models.embedding.glove import GloveEmbedding
from src.models.shapes import check_shapes

log = logging.getLogger(__name__)
WIDTH = 128  # features that a component gets of one that cannot be built
TOO_LARGE = re.compile(r"overflow|too large|invalid.*(size|dimension)|out of memory|allocate memory", re.IGNORECASE)

Make = Callable[[DictConfig], Any]


class Built(NamedTuple):
    """A component, or None if it cannot be built, and what it refuses."""

    component: Any
    mistakes: list[Mistake]


def dry_build(cfg: DictConfig) -> None:
    """Build what a training needs without its numbers, in milliseconds, before anything is written or read.

    Raises:
        UserError: a component is not there, an option is outside its range, components do not go together, or the
            data file lacks a column; the message lists all mistakes.
    """
    if mistakes := list(missing_components(cfg)) or build_mistakes(cfg):
        raise UserError(format_mistakes(mistakes))


def dry_optimizer(cfg: DictConfig) -> torch.optim.Optimizer | None:
    """The optimizer of a training with its parameter groups; None where a component cannot be built dry."""
    if _is_pretrained(cfg):
        return None
    with hide_warnings(), torch.random.fork_rng(devices=[]), torch.device("meta"):
        result = _error(cfg, lambda cfg: build.optimizer(cfg, build.classifier(cfg, (PAD, UNKNOWN), 1)), strict=False)
    return result.component if isinstance(result, Built) else None


def build_mistakes(cfg: DictConfig, known: Collection[Mistake] = (), strict: bool = False) -> list[Mistake]:
    """What the components of a training refuse: numbers out of range, sizes that do not fit, columns that are missing.

    A refused option is put back to its default, so that what else is wrong shows as well.

    Args:
        cfg: the configuration; a component that is not there is left out.
        known: mistakes that were reported before; their options are not tried.
        strict: let pass whatever is not meant for the user. Without it a component that needs more than a dry build
            gives, such as one of the user's own, is left to the run itself.
    """
    cfg = _without(cfg, known)
    unbuildable = {where.partition("._target_")[0] for where, _ in known if "._target_" in where}
    mistakes: list[Mistake] = []
    with hide_warnings(), torch.random.fork_rng(devices=[]):
        for check in (_model_and_optimizer, _loss, _data, _trainer):
            mistakes += check(cfg, unbuildable, strict)
    return list(dict.fromkeys(mistakes))


def _model_and_optimizer(cfg: DictConfig, unbuildable: Collection[str], strict: bool) -> Iterator[Mistake]:
    with torch.device("meta"):
        model = None
        if all(_is_there(cfg, f"model.{part}", unbuildable) for part in PARTS) and not _is_pretrained(cfg):
            mistakes = list(_parts(cfg, strict))
            yield from mistakes
            if not mistakes:
                model, mistakes = _built(cfg, "model", lambda cfg: build.classifier(cfg, (PAD, UNKNOWN), 1), strict)
                yield from mistakes
        if model is not None:
            yield from _refusals(lambda: require_memory(model), "model")
            yield from _refusals(lambda: check_shapes(model, num_logits=1), "model")
    if not _is_there(cfg, "optimizer", unbuildable):
        return

    def optimizer(cfg: DictConfig) -> Any:
        return build.make(cfg, "optimizer", [torch.nn.Parameter(torch.zeros(1))])

    made, mistakes = _built(cfg, "optimizer", optimizer, strict)
    yield from mistakes
    cfg = _without(cfg, mistakes)
    per_part = list(_per_part(cfg, optimizer, made, strict))
    yield from per_part
    if model is not None and made is not None and not mistakes and not per_part:
        yield from _built(cfg, "optimizer", lambda cfg: build.optimizer(cfg, model), strict).mistakes
    if made is not None and _is_there(cfg, "scheduler", unbuildable):
        yield from _built(cfg, "scheduler", lambda cfg: build.scheduler(cfg, optimizer(cfg), steps=1), strict).mistakes


def _parts(cfg: DictConfig, strict: bool) -> Iterator[Mistake]:
    """What the components of the model refuse, each with as many features as the one before it gives."""
    width: Any = WIDTH
    is_sure = True  # that `width` is what the configuration means
    for part in PARTS:
        made, mistakes = _part(cfg, part, width, strict and is_sure)
        if mistakes and not is_sure:  # those that any other width would bring, too
            others = _part(cfg, part, width + 1, strict=False).mistakes
            mistakes = [mistake for mistake in mistakes if mistake in others]
        if isinstance(made, GloveEmbedding) and made.path is not None:
            mistakes += _refusals(partial(existing_file, made.path, "model.embedding.path"), "model.embedding")
        yield from mistakes
        output = getattr(made, "output_dim", None)
        is_sure = is_sure and not mistakes and isinstance(output, int)
        width = output if isinstance(output, int) else width


def _part(cfg: DictConfig, part: str, width: int, strict: bool) -> Built:
    sizes: tuple[Any, ...] = (width, 1) if part == "head" else (width,)
    given = ((PAD, UNKNOWN),) if part == "embedding" else sizes
    return _built(cfg, f"model.{part}", lambda cfg: build.make(cfg, f"model.{part}", *given), strict)


def _per_part(cfg: DictConfig, optimizer: Make, made: Any, strict: bool) -> Iterator[Mistake]:
    """What the optimizer refuses of the options for one component: torch itself takes any."""
    for part, options in (cfg.get("per_part") or {}).items():
        if not options:
            continue
        path = f"per_part.{part}"
        if part not in PARTS:
            yield Mistake(path, f"no such component; there are {', '.join(PARTS)}")
            continue
        if not isinstance(made, torch.optim.Optimizer):
            continue
        yield from _refusals(partial(build.require_options, options, made, path), path)
        takes = signature.of_class(type(made)).options  # type: ignore[arg-type]  # it has a hash
        single = cfg.copy()
        plain: Any = OmegaConf.to_container(options, resolve=True)
        for name, value in plain.items():
            option = takes.get(name)
            if option is not None and not matches_type(value, option.hint):
                yield Mistake(
                    f"{path}.{name}={format_value(value)}",
                    f"expects {describe_type(option.hint)}, {describe_value(value)}",
                )
            elif name in made.defaults:
                OmegaConf.update(single, f"optimizer.{name}", value, force_add=True)
        for where, what in _built(single, "optimizer", optimizer, strict).mistakes:
            yield Mistake(where.replace("optimizer", path, 1), what)


def _loss(cfg: DictConfig, unbuildable: Collection[str], strict: bool) -> Iterator[Mistake]:
    """The number of classes is not known yet: the loss may assume two, or as many as it has weights."""
    if not _is_there(cfg, "loss", unbuildable):
        return
    weights = cfg.loss.get("class_weights")
    sizes = {2, len(weights) if OmegaConf.is_list(weights) and len(weights) > 1 else 2}

    def refusals(size: int) -> list[Mistake]:
        return _built(cfg, "loss", lambda cfg: build.make(cfg, "loss", [1] * size), strict).mistakes

    yield from min(map(refusals, sizes), key=len)


def _data(cfg: DictConfig, unbuildable: Collection[str], strict: bool) -> Iterator[Mistake]:
    if {"data", "data.tokenizer"} & set(unbuildable) or not _is_there(cfg, "data", ()):
        return
    data, mistakes = _built(cfg, "data", lambda cfg: build.make(cfg, "data"), strict)
    yield from mistakes
    if data is None:
        return
    if hasattr(data, "tokenizer") and not isinstance(data.tokenizer, TokenizerBuilder):
        yield Mistake("data.tokenizer", "is no tokenizer: choose one with data/tokenizer=…")
    if hasattr(data, "require_columns"):
        yield from _refusals(data.require_columns, "data")


def _trainer(cfg: DictConfig, unbuildable: Collection[str], strict: bool) -> Iterator[Mistake]:
    for name in cfg.get("callbacks") or {}:
        path = f"callbacks.{name}"
        if _is_there(cfg, path, unbuildable):
            yield from _built(cfg, path, partial(build.make, key=path), strict).mistakes
    if _is_there(cfg, "trainer", unbuildable):
        alone = cfg.copy()
        alone.callbacks = {}
        yield from _built(alone, "trainer", build.trainer, strict).mistakes


def _built(cfg: DictConfig, key: str, make: Make, strict: bool) -> Built:
    """Make the component `key`; one that refuses an option is made again without it."""
    cfg = cfg.copy()
    mistakes: list[Mistake] = []
    while True:
        error = _error(cfg, make, strict)
        if not isinstance(error, str):
            return Built(error.component, mistakes)
        path, text = _split(error, key)
        if any(where.startswith(f"{path}.{text.partition('=')[0]}=") for where, _ in mistakes):
            return Built(None, mistakes)  # its default does not fit either
        options = _options(cfg, path)
        name, rule = _culprit(options, text) or (_by_trial(cfg, path, options, make, error), text)
        if name is None:
            return Built(None, [*mistakes, Mistake(path, rule)])
        mistakes.append(Mistake(f"{path}.{name}={format_value(options[name])}", rule))
        del OmegaConf.select(cfg, path)[name]
        if name in _required(cfg, path):
            return Built(None, mistakes)


def _error(cfg: DictConfig, make: Make, strict: bool) -> str | Built:
    """Why a component cannot be made, or the component."""
    try:
        return Built(make(cfg), [])
    except UserError as error:
        return str(error)
    except Exception as error:
        if isinstance(error, (RuntimeError, MemoryError, OverflowError)) and TOO_LARGE.search(str(error)):
            return "needs more memory than any machine has: choose smaller sizes"
        if strict:
            raise
        log.debug("A component cannot be built dry: %s", error)
        return Built(None, [])


def _split(text: str, key: str) -> tuple[str, str]:
    """`model.head: dropout=2 must …` → model.head, dropout=2 must …; also where the path ends in a value."""
    if match := re.match(rf"({re.escape(key)}[\w.]*)(: |(?==))", text):
        path = match[1]
        if match[2]:
            return path, text[match.end() :]
        parent, _, name = path.rpartition(".")
        return parent, name + text[match.end() :]
    return key, text


def _options(cfg: DictConfig, path: str) -> dict[str, Any]:
    node = OmegaConf.select(cfg, path)
    if not isinstance(node, DictConfig):
        return {}
    plain: Any = OmegaConf.to_container(node, resolve=True)
    return {name: value for name, value in plain.items() if not str(name).startswith("_")}


def _culprit(options: dict[str, Any], text: str) -> tuple[str, str] | None:
    """The option that a message begins with, as those of Heed's constructors do, and the rest of the message."""
    match = re.match(r"(\w+)=(\[.*?\]|'.*?'|[^\s:]*):? (.*)", text, re.DOTALL)
    return (match[1], match[3]) if match and match[1] in options else None


def _by_trial(cfg: DictConfig, path: str, options: dict[str, Any], make: Make, error: str) -> str | None:
    """The option without which a component raises nothing, or something else."""
    required = _required(cfg, path)
    for name in options:
        if name not in required:
            without = cfg.copy()
            del OmegaConf.select(without, path)[name]
            if _error(without, make, strict=False) != error:
                return name
    return None


def _required(cfg: DictConfig, path: str) -> set[str]:
    """Options without a default."""
    target = OmegaConf.select(cfg, f"{path}._target_")
    found = _class(str(target))
    takes = signature.of_class(found).options if found is not None else {}
    return {name for name, option in takes.items() if option.required}


def _class(target: str) -> type | None:
    """The class of a target that was imported already."""
    module, _, name = target.rpartition(".")
    found = getattr(sys.modules.get(module), name, None)
    return found if isinstance(found, type) else None


def _refusals(check: Callable[[], object], key: str) -> list[Mistake]:
    """What a check refuses, with the place that its message begins with."""
    try:
        check()
    except UserError as error:
        match = re.match(r"([\w.]+(?:=\S*)?): ", str(error))
        return [Mistake(match[1], str(error)[match.end() :]) if match else Mistake(key, str(error))]
    return []


def _without(cfg: DictConfig, mistakes: Collection[Mistake]) -> DictConfig:
    """The configuration with its defaults in place of mistaken options."""
    cfg = cfg.copy()
    OmegaConf.set_struct(cfg, False)
    OmegaConf.set_readonly(cfg, False)
    for where, _ in mistakes:
        path = re.split(r"=|\[", where)[0].lstrip("+~")
        parent, _, name = path.rpartition(".")
        node = OmegaConf.select(cfg, parent, throw_on_missing=False) if parent else None
        if isinstance(node, DictConfig) and name in set(node) and not name.startswith("_"):
            del node[name]
    return cfg


def _is_there(cfg: DictConfig, path: str, unbuildable: Collection[str]) -> bool:
    target = OmegaConf.select(cfg, f"{path}._target_", throw_on_missing=False)
    return target is not None and path not in unbuildable


def _is_pretrained(cfg: DictConfig) -> bool:
    """A pretrained model takes long to read itself: it is built in the run alone."""
    return "pretrained" in f"{cfg.model.embedding._target_} {cfg.model.encoder._target_}"


@contextmanager
def hide_warnings() -> Iterator[None]:
    """What libraries remark on the Trainer, they will say again when it is built for the run."""
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

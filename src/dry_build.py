"""The dry build: construct every component on torch's meta device, and collect all errors."""

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
from src.config.keys import PARTS
from src.config.mistakes import Mistake, format_mistakes, format_value
from src.config.required import missing_components
from src.config.values import describe_type, describe_value, matches_type
from src.data.files import existing_file
from src.data.tokenizer import TokenizerBuilder
from src.data.trained_tokenizer import PAD, UNKNOWN
from src.errors import UserError
from src.kernels.malloc import require_memory
from src.models.embedding.glove import GloveEmbedding
from src.models.shapes import check_shapes

log = logging.getLogger(__name__)
FEATURES = 128  # input size of a component if the one before it cannot be built

Make = Callable[[DictConfig], Any]


class BuildResult(NamedTuple):
    """A component, or None if it cannot be built, and the mistakes in its options."""

    component: Any
    mistakes: list[Mistake]


def dry_build(cfg: DictConfig) -> None:
    """Construct the components of a training without memory for weights, before anything is written or read.

    Raises:
        UserError: if a component is missing, an option is outside its range, components are incompatible, or the
            data file lacks a column; the message lists all mistakes.
    """
    if mistakes := list(missing_components(cfg)) or build_mistakes(cfg):
        raise UserError(format_mistakes(mistakes))


def dry_optimizer(cfg: DictConfig) -> torch.optim.Optimizer | None:
    """The optimizer of a training with its parameter groups; None if a component cannot be built dry."""
    if _is_pretrained(cfg):
        return None
    with hide_warnings(), torch.random.fork_rng(devices=[]), torch.device("meta"):
        result = _try_build(
            cfg, lambda cfg: build.optimizer(cfg, build.classifier(cfg, (PAD, UNKNOWN), 1)), strict=False
        )
    return result.component if isinstance(result, BuildResult) else None


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
    cfg = _without(cfg, known)
    mistakes: list[Mistake] = []
    with hide_warnings(), torch.random.fork_rng(devices=[]):
        for check in (_model_and_optimizer, _loss, _data, _trainer):
            mistakes += check(cfg, strict)
    return list(dict.fromkeys(mistakes))


def _model_and_optimizer(cfg: DictConfig, strict: bool) -> Iterator[Mistake]:
    with torch.device("meta"):
        model = None
        if all(_is_present(cfg, f"model.{part}") for part in PARTS) and not _is_pretrained(cfg):
            mistakes = list(_component_mistakes(cfg, strict))
            yield from mistakes
            if not mistakes:
                model, mistakes = _built(cfg, "model", lambda cfg: build.classifier(cfg, (PAD, UNKNOWN), 1), strict)
                yield from mistakes
        if model is not None:
            yield from _check_mistakes(lambda: require_memory(model), "model")
            yield from _check_mistakes(lambda: check_shapes(model, num_logits=1), "model")
    if not _is_present(cfg, "optimizer"):
        return

    def optimizer(cfg: DictConfig) -> Any:
        return build.make(cfg, "optimizer", [torch.nn.Parameter(torch.zeros(1))])

    component, mistakes = _built(cfg, "optimizer", optimizer, strict)
    yield from mistakes
    cfg = _without(cfg, mistakes)
    param_groups = list(_param_group_mistakes(cfg, optimizer, component, strict))
    yield from param_groups
    if model is not None and component is not None and not mistakes and not param_groups:
        yield from _built(cfg, "optimizer", lambda cfg: build.optimizer(cfg, model), strict).mistakes
    if component is not None and _is_present(cfg, "scheduler"):
        yield from _built(cfg, "scheduler", lambda cfg: build.scheduler(cfg, optimizer(cfg), steps=1), strict).mistakes


def _component_mistakes(cfg: DictConfig, strict: bool) -> Iterator[Mistake]:
    """Find errors of the model's components; each gets the output size of the one before it."""
    input_dim: Any = FEATURES
    is_exact = True  # whether the configuration determines `input_dim`
    for part in PARTS:
        component, mistakes = _build_component(cfg, part, input_dim, strict and is_exact)
        if mistakes and not is_exact:  # keep mistakes that do not depend on input_dim
            others = _build_component(cfg, part, input_dim + 1, strict=False).mistakes
            mistakes = [mistake for mistake in mistakes if mistake in others]
        if isinstance(component, GloveEmbedding) and component.path is not None:
            mistakes += _check_mistakes(
                partial(existing_file, component.path, "model.embedding.path"), "model.embedding"
            )
        yield from mistakes
        output = getattr(component, "output_dim", None)
        is_exact = is_exact and not mistakes and isinstance(output, int)
        input_dim = output if isinstance(output, int) else input_dim


def _build_component(cfg: DictConfig, part: str, input_dim: int, strict: bool) -> BuildResult:
    sizes: tuple[Any, ...] = (input_dim, 1) if part == "head" else (input_dim,)
    arguments = ((PAD, UNKNOWN),) if part == "embedding" else sizes
    return _built(cfg, f"model.{part}", lambda cfg: build.make(cfg, f"model.{part}", *arguments), strict)


def _param_group_mistakes(cfg: DictConfig, optimizer: Make, component: Any, strict: bool) -> Iterator[Mistake]:
    """Check the optimizer options of single components; torch accepts any."""
    for part, options in (cfg.get("param_groups") or {}).items():
        if not options:
            continue
        path = f"param_groups.{part}"
        if part not in PARTS:
            yield Mistake(path, f"no such component; there are {', '.join(PARTS)}")
            continue
        if not isinstance(component, torch.optim.Optimizer):
            continue
        yield from _check_mistakes(partial(build.require_options, options, component, path), path)
        takes = signature.of_class(type(component)).options  # type: ignore[arg-type]  # it has a hash
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
        for entry, message in _built(single, "optimizer", optimizer, strict).mistakes:
            yield Mistake(entry.replace("optimizer", path, 1), message)


def _loss(cfg: DictConfig, strict: bool) -> Iterator[Mistake]:
    """Check the loss for two classes and for as many as it has weights: the number is not known yet."""
    if not _is_present(cfg, "loss"):
        return
    weights = cfg.loss.get("class_weights")
    sizes = {2, len(weights) if OmegaConf.is_list(weights) and len(weights) > 1 else 2}

    def mistakes_for(size: int) -> list[Mistake]:
        return _built(cfg, "loss", lambda cfg: build.make(cfg, "loss", [1] * size), strict).mistakes

    yield from min(map(mistakes_for, sizes), key=len)


def _data(cfg: DictConfig, strict: bool) -> Iterator[Mistake]:
    if not _is_present(cfg, "data"):
        return
    data, mistakes = _built(cfg, "data", lambda cfg: build.make(cfg, "data"), strict)
    yield from mistakes
    if data is None:
        return
    if hasattr(data, "tokenizer") and not isinstance(data.tokenizer, TokenizerBuilder):
        yield Mistake("data.tokenizer", "is not a tokenizer: choose one with data/tokenizer=…")
    if hasattr(data, "require_columns"):
        yield from _check_mistakes(data.require_columns, "data")


def _trainer(cfg: DictConfig, strict: bool) -> Iterator[Mistake]:
    for name in cfg.get("callbacks") or {}:
        path = f"callbacks.{name}"
        if _is_present(cfg, path):
            yield from _built(cfg, path, partial(build.make, key=path), strict).mistakes
    if _is_present(cfg, "trainer"):
        alone = cfg.copy()
        alone.callbacks = {}
        yield from _built(alone, "trainer", build.trainer, strict).mistakes


def _built(cfg: DictConfig, key: str, make: Make, strict: bool) -> BuildResult:
    """Construct the component `key`; after an error, construct it again without the invalid option."""
    cfg = cfg.copy()
    mistakes: list[Mistake] = []
    while True:
        error = _try_build(cfg, make, strict)
        if not isinstance(error, str):
            return BuildResult(error.component, mistakes)
        path, text = _split(error, key)
        if any(entry.startswith(f"{path}.{text.partition('=')[0]}=") for entry, _ in mistakes):
            return BuildResult(None, mistakes)  # its default is invalid, too
        options = _options(cfg, path)
        name, rule = _option_in_message(options, text) or (
            _option_by_elimination(cfg, path, options, make, error),
            text,
        )
        if name is None:
            return BuildResult(None, [*mistakes, Mistake(path, rule)])
        mistakes.append(Mistake(f"{path}.{name}={format_value(options[name])}", rule))
        del OmegaConf.select(cfg, path)[name]
        if name in _required(cfg, path):
            return BuildResult(None, mistakes)


def _try_build(cfg: DictConfig, make: Make, strict: bool) -> str | BuildResult:
    """Construct a component; return it, or the error message."""
    try:
        return BuildResult(make(cfg), [])
    except UserError as error:
        return str(error)
    except Exception as error:
        if isinstance(error, (RuntimeError, MemoryError, OverflowError)) and build.TOO_LARGE.search(str(error)):
            return "needs more memory than any machine has: choose smaller sizes"
        if strict:
            raise
        log.debug("A component cannot be built dry: %s", error)
        return BuildResult(None, [])


def _split(text: str, key: str) -> tuple[str, str]:
    """`model.head: dropout=2 must …` → model.head, dropout=2 must …; also if the path ends in a value."""
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


def _option_in_message(options: dict[str, Any], text: str) -> tuple[str, str] | None:
    """The option at the start of a message of Heed's constructors, and the rest of the message."""
    match = re.match(r"(\w+)=(\[.*?\]|'.*?'|[^\s:]*):? (.*)", text, re.DOTALL)
    return (match[1], match[3]) if match and match[1] in options else None


def _option_by_elimination(cfg: DictConfig, path: str, options: dict[str, Any], make: Make, error: str) -> str | None:
    """The option whose removal changes the error of a component."""
    required = _required(cfg, path)
    for name in options:
        if name not in required:
            without = cfg.copy()
            del OmegaConf.select(without, path)[name]
            if _try_build(without, make, strict=False) != error:
                return name
    return None


def _required(cfg: DictConfig, path: str) -> set[str]:
    """Options without a default."""
    target = OmegaConf.select(cfg, f"{path}._target_")
    cls = _class(str(target))
    options = signature.of_class(cls).options if cls is not None else {}
    return {name for name, option in options.items() if option.required}


def _class(target: str) -> type | None:
    """The class of a target whose module is already imported."""
    module, _, name = target.rpartition(".")
    value = getattr(sys.modules.get(module), name, None)
    return value if isinstance(value, type) else None


def _check_mistakes(check: Callable[[], object], key: str) -> list[Mistake]:
    """Run a check; return its error as a mistake, with the path at the start of the message."""
    try:
        check()
    except UserError as error:
        match = re.match(r"([\w.]+(?:=\S*)?): ", str(error))
        return [Mistake(match[1], str(error)[match.end() :]) if match else Mistake(key, str(error))]
    return []


def _without(cfg: DictConfig, mistakes: Collection[Mistake]) -> DictConfig:
    """A copy of the configuration without the options of `mistakes`, so that defaults apply."""
    cfg = cfg.copy()
    OmegaConf.set_struct(cfg, False)
    OmegaConf.set_readonly(cfg, False)
    for entry, _ in mistakes:
        path = re.split(r"=|\[", entry)[0].lstrip("+~")
        parent, _, name = path.rpartition(".")
        node = OmegaConf.select(cfg, parent, throw_on_missing=False) if parent else None
        if isinstance(node, DictConfig) and name in set(node) and not name.startswith("_"):
            del node[name]
    return cfg


def _is_present(cfg: DictConfig, path: str) -> bool:
    target = OmegaConf.select(cfg, f"{path}._target_", throw_on_missing=False)
    return target is not None


def _is_pretrained(cfg: DictConfig) -> bool:
    """Whether a component is pretrained; reading it takes long, so the dry build skips it."""
    return "pretrained" in f"{cfg.model.embedding._target_} {cfg.model.encoder._target_}"


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

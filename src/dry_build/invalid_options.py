"""Construct a component repeatedly to find the options that it rejects."""

import logging
import re
from collections.abc import Callable, Collection
from typing import Any, NamedTuple

from omegaconf import DictConfig, OmegaConf

from src.build.objects import class_at
from src.config.copying import copy_config
from src.config.mistakes import Mistake
from src.config.options import of_class
from src.config.plain import plain_value
from src.errors import UserError
from src.formatting import format_value
from src.kernels.malloc import is_size_error

log = logging.getLogger(__name__)

Make = Callable[[DictConfig], Any]
# The option, its value and the violated rule in the message of a constructor; models/component.py defines the format
OPTION = re.compile(r"(\w+)=(\[.*?\]|'.*?'|\S*?):? (.*)", re.DOTALL)


class BuildResult(NamedTuple):
    """A component (None if it cannot be built) and the mistakes in its options."""

    component: Any
    mistakes: list[Mistake]


def build_valid(cfg: DictConfig, key: str, make: Make) -> BuildResult:
    """Construct the component at `key` with `make`; after an error, construct it again without the invalid option.

    For example, the error `model.head: dropout=2 must …` becomes a mistake, and the head is constructed again with the
    default of `dropout`. This is repeated until there is no error, the option at fault cannot be determined or has no
    default, or its default is also invalid. An exception that is neither a `UserError` nor an error about a tensor's
    size ends the repetition without a component or a further mistake.
    """
    mistakes: list[Mistake] = []
    while True:
        component, error = try_build(cfg, make)
        if error is None:
            return BuildResult(component, mistakes)
        path, text = _split(error, key)
        match = OPTION.match(text)
        if match and any(entry.startswith(f"{path}.{match[1]}=") for entry, _ in mistakes):
            return BuildResult(None, mistakes)  # the default of the option is also invalid
        options = _options(cfg, path)
        if match and match[1] in options:
            name, rule = match[1], match[3]
        else:
            name, rule = _option_by_elimination(cfg, path, list(options), make, error), text
        if name is None:
            return BuildResult(None, [*mistakes, Mistake(path, rule)])
        mistakes.append(Mistake(f"{path}.{name}={format_value(options[name])}", rule))
        cfg = copy_config(cfg)
        del OmegaConf.select(cfg, path)[name]
        if name in _required(cfg, path):
            return BuildResult(None, mistakes)


def try_build(cfg: DictConfig, make: Make) -> tuple[Any, str | None]:
    """Construct a component; return the component and None or, after an error, None and the error's message.

    The message is None for an exception that is neither a `UserError` nor an error about a tensor's size.
    """
    try:
        return make(cfg), None
    except UserError as error:
        return None, str(error)
    except Exception as error:
        if is_size_error(error):
            return None, "needs more memory than any machine has: choose smaller sizes"
        log.debug("The dry build of a component failed: %s", error)
        return None, None


def check_mistakes(check: Callable[[], object], key: str) -> list[Mistake]:
    """Run a check; return its error, if any, as a mistake at the path that starts the message, otherwise at `key`."""
    try:
        check()
    except UserError as error:
        match = re.match(r"([\w.]+(?:=\S*)?): ", str(error))
        return [Mistake(match[1], str(error)[match.end() :]) if match else Mistake(key, str(error))]
    return []


def without_options(cfg: DictConfig, mistakes: Collection[Mistake]) -> DictConfig:
    """Return a copy of the configuration without the options in `mistakes`, so that their defaults apply."""
    cfg = copy_config(cfg)
    OmegaConf.set_struct(cfg, False)
    OmegaConf.set_readonly(cfg, False)
    for entry, _ in mistakes:
        path = re.split(r"=|\[", entry)[0].lstrip("+~")
        parent, _, name = path.rpartition(".")
        node = OmegaConf.select(cfg, parent, throw_on_missing=False) if parent else None
        if isinstance(node, DictConfig) and name in set(node) and not name.startswith("_"):
            del node[name]
    return cfg


def _split(text: str, key: str) -> tuple[str, str]:
    """Split an error message into the path of a component (`key` if there is no path) and the rest.

    `model.head: dropout=2 must …` and `model.head.dropout=2 must …` both give `model.head` and `dropout=2 must …`.
    """
    if match := re.match(rf"({re.escape(key)}[\w.]*)(: |(?==))", text):
        path = match[1]
        if match[2]:
            return path, text[match.end() :]
        parent, _, name = path.rpartition(".")
        return parent, name + text[match.end() :]
    return key, text


def _options(cfg: DictConfig, path: str) -> dict[str, Any]:
    node = plain_value(cfg, path)
    return {name: node[name] for name in node if not str(name).startswith("_")} if isinstance(node, dict) else {}


def _option_by_elimination(cfg: DictConfig, path: str, names: list[str], make: Make, error: str) -> str | None:
    """Return the first option whose removal changes the component's error; None if there is no such option."""
    required = _required(cfg, path)
    for name in (name for name in names if name not in required):
        without = copy_config(cfg)
        del OmegaConf.select(without, path)[name]
        if try_build(without, make)[1] != error:
            return name
    return None


def _required(cfg: DictConfig, path: str) -> set[str]:
    """Return the names of those options of a component that have no default."""
    cls = class_at(cfg, path)
    options = of_class(cls).options if cls is not None else {}
    return {name for name, option in options.items() if option.required}

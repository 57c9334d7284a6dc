"""Validate the node `hydra`, from which Hydra creates plugins, callbacks and log handlers."""

import logging
from collections.abc import Iterator, Mapping, Set
from typing import Any

from omegaconf import DictConfig

from src.config.mistakes import Mistake
from src.config.places import place_at
from src.config.plain import plain_values
from src.config.targets import TRUSTED, find_subclass
from src.formatting import format_value

PLUGIN_MODULES = frozenset({"hydra", "hydra_plugins"})
LOG_MODULES = frozenset({"logging", "colorlog", "hydra"})
LOG_KINDS = {"formatters": logging.Formatter, "filters": logging.Filter, "handlers": logging.Handler}
STREAMS = ("ext://sys.stdout", "ext://sys.stderr")


def hydra_mistakes(node: DictConfig, user_modules: Set[str]) -> Iterator[Mistake]:
    """Find classes in `hydra` that are untrusted or have the wrong base class, and unsupported references to objects.

    Args:
        node: the node `hydra` of a composed configuration.
        user_modules: the modules in `extras.trusted_modules`.
    """
    values = plain_values(node, lambda written, reason: written)
    for name, value in values.items():
        if name in ("job_logging", "hydra_logging"):
            yield from _logging(value, f"hydra.{name}", LOG_MODULES | user_modules)
        else:
            yield from _objects(value, f"hydra.{name}", PLUGIN_MODULES | TRUSTED | user_modules)


def _objects(node: Any, path: str, trusted: Set[str]) -> Iterator[Mistake]:
    """Check every `_target_`; only plugins and callbacks may have a `_target_`."""
    if isinstance(node, dict) and "_target_" in node:
        place, target = place_at(path), node["_target_"]
        try:
            find_subclass(target, trusted, [] if place is None else [place.base_class])
        except ValueError as error:
            yield Mistake(f"{path}._target_={format_value(target)}", str(error))
    for key, value in _items(node):
        yield from _objects(value, f"{path}.{key}", trusted)


def _logging(node: Any, path: str, trusted: Set[str]) -> Iterator[Mistake]:
    """Check the objects that `logging.config.dictConfig` would import: classes, factories and `ext://` references."""
    entries = {
        f"{path}.{section}.{name}": (entry, kind)
        for section, kind in LOG_KINDS.items()
        if isinstance(node, dict) and isinstance(node.get(section), dict)
        for name, entry in node[section].items()
    }
    for here, (entry, kind) in entries.items():
        for key in ("class", "()"):
            if isinstance(entry, dict) and entry.get(key) is not None:
                try:
                    find_subclass(entry[key], trusted, [kind])
                except ValueError as error:
                    yield Mistake(f"{here}.{key}={format_value(entry[key])}", str(error))
    yield from _references(node, path, {f"{here}.{key}" for here in entries for key in ("class", "()")})


def _references(node: Any, path: str, checked: Set[str]) -> Iterator[Mistake]:
    for key, value in _items(node):
        here = f"{path}.{key}"
        if isinstance(value, str) and value.startswith(("ext://", "cfg://")) and value not in STREAMS:
            yield Mistake(f"{here}={format_value(value)}", f"is not supported: use {' or '.join(STREAMS)}")
        elif key in ("()", "class", "queue", "listener", "_target_") and here not in checked and value is not None:
            yield Mistake(f"{here}={format_value(value)}", "cannot be an object: write a plain value")
        yield from _references(value, here, checked)


def _items(node: Any) -> Iterator[tuple[Any, Any]]:
    if isinstance(node, Mapping):
        yield from node.items()
    elif isinstance(node, list):
        yield from enumerate(node)

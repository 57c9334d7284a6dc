"""A configuration as plain dicts and lists, in which an interpolation that fails is a value, not an exception."""

from collections.abc import Callable
from typing import Any, NamedTuple

from omegaconf import DictConfig, ListConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

MISSING = "???"  # is written for a missing value; a reference that resolves to this text is not missing


class Unresolved(NamedTuple):
    """An interpolation that cannot be resolved."""

    written: str
    reason: str


def written_values(node: DictConfig | ListConfig) -> Any:
    """Return the plain values of a node, with interpolations as written."""
    return OmegaConf.to_container(node, resolve=False)


def plain_values(node: DictConfig | ListConfig, unresolved: Callable[[str, str], Any] = Unresolved) -> Any:
    """Return the plain values of a node, with interpolations resolved.

    Args:
        unresolved: creates the value of an interpolation that fails, from the interpolation as written and the reason.
    """
    try:
        return OmegaConf.to_container(node, resolve=True)
    except OmegaConfBaseException:
        keys: Any = node if isinstance(node, DictConfig) else range(len(node))
        values = {key: _resolve(node, key, unresolved) for key in keys}
        return values if isinstance(node, DictConfig) else list(values.values())


def plain_value(cfg: DictConfig, path: str) -> Any:
    """Return the plain value at a dotted path; None if there is no value, or if an interpolation on the path fails."""
    try:
        value = OmegaConf.select(cfg, path)
    except OmegaConfBaseException:
        return None
    return plain_values(value) if OmegaConf.is_config(value) else value


def value_at(values: Any, path: str) -> Any:
    """Return the value at a dotted path in plain values; None if the path does not exist."""
    for name in path.split("."):
        values = values.get(name) if isinstance(values, dict) else None
    return values


def join_path(path: str, key: object) -> str:
    """Return the path of a key or a list index below `path`: `a.key` or `a[3]`."""
    if isinstance(key, int):
        return f"{path}[{key}]"
    return f"{path}.{key}" if path else str(key)


def _resolve(node: DictConfig | ListConfig, key: Any, unresolved: Callable[[str, str], Any]) -> Any:
    if OmegaConf.is_missing(node, key):
        return MISSING
    try:
        value = node[key]
    except OmegaConfBaseException as error:
        return unresolved(str(written_values(node)[key]), str(error).splitlines()[0])
    return plain_values(value, unresolved) if OmegaConf.is_config(value) else value

"""Validation of plain containers that come from a file: their keys, their types, and finite numbers."""

from collections.abc import Mapping
from typing import Any

LARGEST = 2**63 - 1  # of a whole number
HIGHEST = 1e200  # of a number with a fraction: sums of such are finite, too
DEEPEST = 64  # levels of containers
MOST = 200_000  # values of all containers together; shared ones count as often as they occur
NAMES: dict[Any, str] = {
    str: "text",
    bool: "true or false",
    int: "a whole number",
    float: "a finite number",
    None: "null",
    dict: "a mapping",
    list: "a list",
}


def require(value: Any, spec: Any, path: str = "") -> None:
    """Check a value against a description of its type.

    Args:
        value: as it was read.
        spec: `str`, `bool`, `int` (64 bits), `float` (finite; whole numbers too), None or another class; a tuple of
            alternatives; `[item]`; `{str: item}` for a mapping of any keys; or `{"key": item, "other?": item}`, where
            a question mark ends the name of a key that may be absent, and keys that are not named may hold anything.
        path: of the value, for the message.

    Raises:
        ValueError: with the dotted path of the first value that does not match, what is expected there and its type.
    """
    where = f"{path}: " if path else ""
    if isinstance(spec, Mapping):
        if not isinstance(value, dict):
            raise ValueError(f"{where}expects a mapping, got {_type(value)}")
        if str in spec:
            for key, item in value.items():
                require(key, str, f"{path or 'the record'}, a key")
                require(item, spec[str], _join(path, key))
            return
        for key, wanted in spec.items():
            name = key.removesuffix("?")
            if name in value:
                require(value[name], wanted, _join(path, name))
            elif name == key:
                raise ValueError(f"{_join(path, name)} is missing")
    elif isinstance(spec, list):
        if not isinstance(value, list):
            raise ValueError(f"{where}expects a list, got {_type(value)}")
        for i, item in enumerate(value):
            require(item, spec[0], f"{path}[{i}]")
    elif isinstance(spec, tuple):
        containers = [one for one in spec if isinstance(one, (Mapping, list))]
        for one in containers:
            if isinstance(value, dict if isinstance(one, Mapping) else list):
                return require(value, one, path)
        if not any(_is(value, one) for one in spec if one not in containers):
            raise ValueError(f"{where}expects {' or '.join(map(_name, spec))}, got {_type(value)}")
    elif not _is(value, spec):
        raise ValueError(f"{where}expects {_name(spec)}, got {_type(value)}")


def require_plain(value: Any, path: str) -> None:
    """Check that a value consists of mappings with text or numbers as keys, lists, text, numbers and null alone.

    Raises:
        ValueError: if not, or if it is deeper than 64 levels or has more than 200,000 values.
    """
    level, count = [(path, value)], 0
    for _ in range(DEEPEST):
        below: list[tuple[str, Any]] = []
        for where, item in level:
            if type(item) is dict:
                for key in item:
                    require(key, (str, int, bool), f"{where}, a key")
                below += [(_join(where, key), inner) for key, inner in item.items()]
            elif type(item) is list:
                below += [(f"{where}[]", inner) for inner in item]
            elif not (item is None or type(item) in (str, bool, float) or _is(item, int)):
                raise ValueError(f"{where}: expects a plain value, got {_type(item)}")
        count += len(below)
        if count > MOST:
            raise ValueError(f"{path}: has too many values")
        if not below:
            return
        level = below
    raise ValueError(f"{path}: has more than {DEEPEST} levels")


def _is(value: Any, kind: Any) -> bool:
    if kind is None:
        return value is None
    if kind is int:
        return isinstance(value, int) and not isinstance(value, bool) and -LARGEST <= value <= LARGEST
    if kind is float:
        return _is(value, int) or (isinstance(value, float) and abs(value) <= HIGHEST)
    return isinstance(value, kind)


def _type(value: Any) -> str:
    if isinstance(value, int) and not isinstance(value, bool) and not _is(value, int):
        return "a number of more than 64 bits"
    if isinstance(value, float) and not _is(value, float):
        return str(value)
    return NAMES.get(None if value is None else type(value), type(value).__name__)


def _name(spec: Any) -> str:
    kind: Any = dict if isinstance(spec, Mapping) else list if isinstance(spec, list) else spec
    return NAMES.get(kind) or f"a {kind.__name__}"


def _join(path: str, key: object) -> str:
    return f"{path}.{str(key)[:60]}" if path else str(key)[:60]

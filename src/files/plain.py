"""Validate values that were read from a file: keys, types and the finiteness of numbers."""

from collections.abc import Mapping
from typing import Any

MAX_INT = 2**63 - 1
MAX_FLOAT = 1e200  # sums of such numbers are finite, too
MAX_DEPTH = 64  # maximum number of levels of nested containers
MAX_VALUES = 200_000  # maximum number of values in all containers together; a value counts each time it occurs
TYPE_NAMES: dict[Any, str] = {
    str: "text",
    bool: "true or false",
    int: "a whole number",
    float: "a finite number",
    None: "null",
    dict: "a mapping",
    list: "a list",
}


def require(value: Any, spec: Any, path: str = "") -> None:
    """Check a value against a specification of its type.

    Args:
        spec: `str`, `bool`, `int` (for an integer of 64 bits), `float` (for a number of at most MAX_FLOAT in magnitude,
            or an `int`), None or another class; a tuple of alternative specifications; `[item]` for a list; `{str:
            item}` for a mapping with arbitrary text keys; or `{"key": item, "other?": item}` for a mapping with the
            key "key", possibly the key "other", and any further keys, which are not checked. Each `item` is a
            specification.
        path: path of the value in the file, for messages.

    Raises:
        ValueError: if a required key is missing, or a value does not match its specification; the message contains the
            path and, for a value, the expected and the actual type.
    """
    prefix = f"{path}: " if path else ""
    if isinstance(spec, Mapping):
        if not isinstance(value, dict):
            raise ValueError(f"{prefix}expects a mapping, got {_type(value)}")
        if str in spec:
            for key, item in value.items():
                require(key, str, f"{path or 'the record'}, a key")
                require(item, spec[str], _join(path, key))
            return
        for key, item_spec in spec.items():
            name = key.removesuffix("?")
            if name in value:
                require(value[name], item_spec, _join(path, name))
            elif name == key:
                raise ValueError(f"{_join(path, name)} is missing")
    elif isinstance(spec, list):
        if not isinstance(value, list):
            raise ValueError(f"{prefix}expects a list, got {_type(value)}")
        for i, item in enumerate(value):
            require(item, spec[0], f"{path}[{i}]")
    elif isinstance(spec, tuple):
        containers = [option for option in spec if isinstance(option, (Mapping, list))]
        for option in containers:
            if isinstance(value, dict if isinstance(option, Mapping) else list):
                return require(value, option, path)
        if not any(_is(value, option) for option in spec if option not in containers):
            raise ValueError(f"{prefix}expects {' or '.join(map(_name, spec))}, got {_type(value)}")
    elif not _is(value, spec):
        raise ValueError(f"{prefix}expects {_name(spec)}, got {_type(value)}")


def require_plain(value: Any, path: str) -> None:
    """Check that a value consists only of mappings, lists, text, numbers, booleans and null.

    The keys of mappings must be text, integers of 64 bits or booleans.

    Raises:
        ValueError: if there is any other value or key, more than MAX_DEPTH levels, or more than MAX_VALUES values.
    """
    level, count = [(path, value)], 0
    for _ in range(MAX_DEPTH):
        below: list[tuple[str, Any]] = []
        for item_path, item in level:
            if type(item) is dict:
                for key in item:
                    require(key, (str, int, bool), f"{item_path}, a key")
                below += [(_join(item_path, key), inner) for key, inner in item.items()]
            elif type(item) is list:
                below += [(f"{item_path}[]", inner) for inner in item]
            elif not (item is None or type(item) in (str, bool, float) or _is(item, int)):
                raise ValueError(f"{item_path}: expects a plain value, got {_type(item)}")
        count += len(below)
        if count > MAX_VALUES:
            raise ValueError(f"{path}: has too many values")
        if not below:
            return
        level = below
    raise ValueError(f"{path}: has more than {MAX_DEPTH} levels")


def _is(value: Any, kind: Any) -> bool:
    if kind is None:
        return value is None
    if kind is int:
        return isinstance(value, int) and not isinstance(value, bool) and -MAX_INT <= value <= MAX_INT
    if kind is float:
        return _is(value, int) or (isinstance(value, float) and abs(value) <= MAX_FLOAT)
    return isinstance(value, kind)


def _type(value: Any) -> str:
    if isinstance(value, int) and not isinstance(value, bool) and not _is(value, int):
        return "a number of more than 64 bits"
    if isinstance(value, float) and not _is(value, float):
        return str(value)
    return TYPE_NAMES.get(None if value is None else type(value), type(value).__name__)


def _name(spec: Any) -> str:
    kind: Any = dict if isinstance(spec, Mapping) else list if isinstance(spec, list) else spec
    return TYPE_NAMES.get(kind) or f"a {kind.__name__}"


def _join(path: str, key: object) -> str:
    return f"{path}.{str(key)[:60]}" if path else str(key)[:60]

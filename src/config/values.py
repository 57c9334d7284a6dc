"""Compare values with type annotations, and describe annotations in plain words."""

import os
from collections.abc import Collection, Iterable, Mapping, Sequence
from enum import Enum
from pathlib import Path, PurePath
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from src.formatting import format_names, format_value

PATHS = (Path, PurePath, os.PathLike)
LISTS = (list, tuple, set, frozenset, Sequence, Collection, Iterable)
MAPS = (dict, Mapping)
WORDS = {bool: "true or false", int: "a whole number", float: "a number", str: "text", NoneType: "null"}


def matches_type(value: Any, hint: Any) -> bool:
    """Return whether a plain value of a configuration matches the annotation `hint`.

    Whole numbers match `float`; true and false match only `bool`; text matches a path; the names and values of the
    members of an enum match the enum. A node with `_target_` matches any annotation, and any value matches an unknown
    annotation.
    """
    origin, arguments = get_origin(hint) or hint, get_args(hint)
    if isinstance(value, dict) and "_target_" in value:
        return True
    if origin is Annotated:
        return matches_type(value, arguments[0])
    if origin in (Union, UnionType):
        return _matches_union(value, arguments)
    if origin is None or origin is NoneType:
        return value is None
    if origin is Literal:
        return any(value == choice and type(value) is type(choice) for choice in arguments)
    if origin is int or origin is float:
        return isinstance(value, (int, origin)) and not isinstance(value, bool)
    if origin in (bool, str):
        return isinstance(value, origin)
    if origin in PATHS:
        return isinstance(value, str)
    if origin in LISTS:
        return isinstance(value, list) and _items_match(value, origin, arguments)
    if origin in MAPS:
        return isinstance(value, dict) and all(matches_type(item, (*arguments, Any, Any)[1]) for item in value.values())
    if isinstance(origin, type) and issubclass(origin, Enum):
        return value in [*origin.__members__, *(member.value for member in origin)]
    return True


def _matches_union(value: Any, hints: tuple[Any, ...]) -> bool:
    """Return whether a value matches a union.

    Any mapping matches an unknown class in the union, such as Tensor. Any value matches a union that consists only
    of unknown classes and None.
    """
    known = [hint for hint in hints if _known(hint)]
    if all(hint in (None, NoneType) for hint in known):
        return True
    return any(matches_type(value, hint) for hint in known) or (isinstance(value, dict) and len(known) < len(hints))


def _known(hint: Any) -> bool:
    origin = get_origin(hint) or hint
    if origin in (None, Annotated, Union, UnionType, Literal, *WORDS, *PATHS, *LISTS, *MAPS):
        return True
    return isinstance(origin, type) and issubclass(origin, Enum)


def _items_match(values: list[Any], origin: Any, hints: tuple[Any, ...]) -> bool:
    if origin is tuple and hints and hints[-1] is not Ellipsis:
        return len(values) == len(hints) and all(map(matches_type, values, hints))
    return not hints or all(matches_type(value, hints[0]) for value in values)


def describe_type(hint: Any) -> str:
    """Describe an annotation in plain words: `int | None` is 'a whole number or null'."""
    origin, arguments = get_origin(hint) or hint, get_args(hint)
    if origin is Annotated:
        return describe_type(arguments[0])
    if origin in (Union, UnionType, Literal):
        members = [hint] if origin is Literal else arguments
        literals = [member for member in members if get_origin(member) is Literal]
        choices = dict.fromkeys(format_value(choice) for literal in literals for choice in get_args(literal))
        words = [describe_type(member) for member in members if _known(member) and member not in literals]
        if choices:
            words.insert(0, f"one of {format_names(choices)}" if len(choices) > 1 else format_names(choices))
        return " or ".join(dict.fromkeys(words))
    if origin in PATHS:
        return "a path"
    if origin in LISTS:
        return _describe_list_type(origin, arguments)
    if origin in MAPS:
        return "a mapping"
    if isinstance(origin, type) and issubclass(origin, Enum):
        return f"one of {format_names(origin.__members__)}"
    return WORDS.get(NoneType if origin is None else origin, "another type")


def _describe_list_type(origin: Any, hints: tuple[Any, ...]) -> str:
    if origin is tuple and hints and hints[-1] is not Ellipsis:
        return f"a list in [ ] of length {len(hints)}: {', '.join(map(describe_type, hints))}"
    return f"a list in [ ], each item {describe_type(hints[0])}" if hints and _known(hints[0]) else "a list in [ ]"


def describe_value(value: Any) -> str:
    """Return a description of a value, such as "got 'x'", that ends an error message."""
    return f"got '{format_value(value)}'" if isinstance(value, str) else f"got {format_value(value)}"

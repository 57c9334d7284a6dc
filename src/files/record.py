"""Read and write JSON files, and convert frozen dataclasses to and from plain values."""

import json
from collections.abc import Mapping
from dataclasses import Field, field, fields, is_dataclass
from functools import cache
from pathlib import Path
from types import UnionType
from typing import Any, Union, cast, get_args, get_origin, get_type_hints

from src.files import replace_atomically
from src.files.plain import require

NUMBER, TEXT = (float, None), (str, None)
_type_hints = cache(get_type_hints)  # cached, because it takes longer than the conversion of a record


def read_json(path: Path, spec: Any) -> Any:
    """Read a JSON file and check its content.

    Args:
        spec: specification of the content for `src.files.plain.require`.

    Raises:
        OSError: if the file cannot be read.
        ValueError: if the file is not JSON, or does not match `spec`.
    """
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except RecursionError:
        raise ValueError("has too many levels") from None
    require(value, spec)
    return value


def write_json(path: Path, content: Any) -> None:
    """Write a JSON file atomically: a reader sees the previous file or the complete new file.

    Raises:
        ValueError: if a number is not finite.
    """
    text = json.dumps(content, indent=2, allow_nan=False)
    with replace_atomically(path) as part:
        part.write_text(text, encoding="utf-8")


def nullable() -> Any:
    """Return a dataclass field that is written as null if it is None; other fields without a value are omitted."""
    return field(default=None, metadata={"nullable": True})


def record_spec(kind: Any) -> Any:
    """Return the specification of a record for `src.files.plain.require`, from the types of its fields.

    Args:
        kind: a dataclass whose fields have defaults; in recursive calls, the type of a field or of an item. The type of
            a field is another such dataclass, `str`, `int`, `float`, `tuple[item, ...]` or `Mapping[str, item]`, or one
            of these types `| None`; an item has one of these types, too, but not `| None`.
    """
    if is_dataclass(kind):
        specs = [(entry, record_spec(hint)) for entry, hint in _typed_fields(kind)]
        return {f"{entry.name}?": (spec, None) if "nullable" in entry.metadata else spec for entry, spec in specs}
    if get_origin(kind) is tuple:
        return [record_spec(get_args(kind)[0])]
    return {str: record_spec(get_args(kind)[1])} if get_origin(kind) is Mapping else kind


def make_record(kind: Any, value: Any) -> Any:
    """Convert plain values that match `record_spec(kind)` to a record; unknown keys are ignored."""
    if is_dataclass(kind):
        known = [(entry.name, hint) for entry, hint in _typed_fields(kind) if entry.name in value]
        return cast(Any, kind)(**{name: make_record(hint, value[name]) for name, hint in known})
    if get_origin(kind) is tuple:
        return tuple(make_record(get_args(kind)[0], item) for item in value)
    if get_origin(kind) is Mapping:
        return {key: make_record(get_args(kind)[1], item) for key, item in value.items()}
    return value


def plain_record(value: Any) -> Any:
    """Convert a record to plain values: the inverse of `make_record`.

    Fields that are None, empty mappings or records without values are omitted, unless they are `nullable`.
    """
    if is_dataclass(value):
        entries = [(entry, getattr(value, entry.name)) for entry in fields(value)]
        return {entry.name: plain_record(item) for entry, item in entries if _is_written(entry, item)}
    if isinstance(value, Mapping):
        return {key: plain_record(item) for key, item in value.items()}
    return [plain_record(item) for item in value] if isinstance(value, tuple) else value


def _typed_fields(kind: Any) -> list[tuple[Field[Any], Any]]:
    """Return the fields of a dataclass with their types; `X | None` becomes `X`."""
    hints = _type_hints(kind)
    return [(entry, _without_none(hints[entry.name])) for entry in fields(kind)]


def _without_none(hint: Any) -> Any:
    alternatives = [kind for kind in get_args(hint) if kind is not type(None)]
    return alternatives[0] if get_origin(hint) in (UnionType, Union) else hint


def _is_written(entry: Field[Any], value: Any) -> bool:
    is_empty = value is None or value == {} or (is_dataclass(value) and value == entry.default)
    return "nullable" in entry.metadata or not is_empty

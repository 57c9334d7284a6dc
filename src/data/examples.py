"""Examples: the rows of a source that have both a text and a label."""

import logging
import math
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from src.data.rows import Rows
from src.errors import UserError
from src.formatting import format_repr

log = logging.getLogger(__name__)
LONGEST_LABEL = 1000  # characters; longer labels are not classes, and int() refuses 5,000 digits


@dataclass(frozen=True)
class Examples:
    """The rows with both a text and a label, as strings."""

    rows: Rows
    positions: Sequence[int]  # m, in rows
    texts: list[str]  # m
    labels: list[str]  # m


def select_examples(rows: Rows, text: str, label: str, on_bad_rows: str) -> Examples:
    """The texts and labels of the rows that have both; `on_bad_rows` drops other rows or raises an error.

    Raises:
        UserError: if `on_bad_rows` is "error" and a row lacks one, if no row has both, if a value is neither text nor a
            number, or if a label is too long for a class.
    """
    texts = cell_texts(rows, text)
    labels = [value.strip() for value in cell_texts(rows, label)]
    _check_lengths(rows, label, labels)
    positions = [i for i in range(len(texts)) if texts[i].strip() and labels[i]]
    if bad := sorted(set(range(len(texts))) - set(positions)):
        places = rows.describe_places(bad)
        if on_bad_rows == "error":
            raise UserError(
                f"{rows.source}: no {text!r} or no {label!r} in {places}. Correct the file, or drop such "
                "rows with data.on_bad_rows=drop"
            )
        log.warning("%s: dropped %s, without %r or %r", rows.source, places, text, label)
    if not positions:
        raise UserError(f"{rows.source}: no row has both {text!r} and {label!r}")
    return Examples(rows, positions, [texts[i] for i in positions], [labels[i] for i in positions])


def _check_lengths(rows: Rows, column: str, labels: Sequence[str]) -> None:
    long = [i for i, label in enumerate(labels) if len(label) > LONGEST_LABEL]
    if long:
        label = labels[long[0]]
        raise UserError(
            f"{rows.source}: {rows.describe_places(long)}: the label {format_repr(label)} has {len(label):,} "
            f"characters, so column {column!r} does not hold classes; name the column that does with data.label"
        )


def validate_policy(on_bad_rows: str) -> str:
    """Return `on_bad_rows`; raise ValueError unless it is "error" or "drop"."""
    if on_bad_rows not in ("error", "drop"):
        raise ValueError(f"on_bad_rows={on_bad_rows!r}: must be 'error' or 'drop'")
    return on_bad_rows


def cell_texts(rows: Rows, column: str) -> list[str]:
    """The cells of a column as text.

    Raises:
        UserError: if a cell is neither text nor a number.
    """
    texts = []
    for i, value in enumerate(rows.columns[column]):
        try:
            texts.append(_string(value))
        except ValueError as error:
            raise UserError(f"{rows.source}: {rows.describe_places([i])}: column {column!r} holds {error}") from None
    return texts


def _string(value: Any) -> str:
    """Convert a cell to text: bytes are decoded, whole numbers have no decimal point, missing values become empty.

    Raises:
        ValueError: if the cell is neither text nor a number; the message describes it and the remedy.
    """
    if value is None:
        return ""
    if isinstance(value, bytes):
        try:
            value = value.decode()
        except UnicodeDecodeError:
            raise ValueError(f"bytes that are not UTF-8, {format_repr(value)}; save the column as strings") from None
    if isinstance(value, str):
        try:
            value.encode()
        except UnicodeEncodeError:
            raise ValueError(
                f"an unpaired surrogate, which is not a character, in {format_repr(value)}; correct it"
            ) from None
        return value
    if isinstance(value, float | Decimal):
        if not math.isfinite(value):
            return ""
        return str(int(value)) if value % 1 == 0 else str(value)
    if isinstance(value, int):  # includes bool
        return str(value)
    raise ValueError(f"a value of type {type(value).__name__}, {format_repr(value)}; save strings or numbers there")

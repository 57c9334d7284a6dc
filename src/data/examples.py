"""Examples: the rows of a source that have both a text and a label."""

import logging
import math
import sys
from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

from src.data.rows import Rows, format_places
from src.data.spool import StoredTexts
from src.errors import UserError
from src.formatting import format_repr

log = logging.getLogger(__name__)
MAX_LABEL_LENGTH = 1000  # characters; no class has a longer name, and int() rejects more than 4,300 digits


@dataclass(frozen=True)
class Examples:
    """The rows of a source that have both a text and a label, as strings."""

    source: str  # path of the file or name of the data set, for messages
    unit: str  # as in `Rows`
    places: Sequence[int]  # m, as in `Rows`
    texts: StoredTexts  # m
    labels: list[str]  # m; equal labels share one string object
    groups: list[str]  # m; empty if the source has no column of groups


def select_examples(
    chunks: Iterable[Rows], text: str, label: str, on_bad_rows: str, folder: Path, group: str | None = None
) -> Examples:
    """Return the rows that have both a text and a label; drop the other rows, or raise an error.

    Args:
        chunks: at least one chunk, which may be empty.
        text, label, group: names of the columns of texts, labels and groups; without `group`, no groups are read.
        on_bad_rows: "drop" to drop the rows without text or label; "error" to raise an error if there are any.
        folder: folder for the temporary file with the texts.

    Raises:
        UserError: if `on_bad_rows` is "error" and a row lacks a text or a label, if no row has both, if
            `cell_texts` rejects a text or a label, or if a label is longer than `MAX_LABEL_LENGTH`.
    """
    labels: list[str] = []
    groups: list[str] = []
    places, bad = array("q"), array("q")
    rows = Rows("", "", (), {})

    def good_texts() -> Iterator[str]:
        nonlocal rows
        for rows in chunks:
            texts = cell_texts(rows, text)
            names = [value.strip() for value in cell_texts(rows, label)]
            for i, (place, value, name) in enumerate(zip(rows.places, texts, names, strict=True)):
                if len(name) > MAX_LABEL_LENGTH:
                    raise UserError(
                        f"{rows.source}: {rows.unit} {place}: the label {format_repr(name)} has {len(name):,} "
                        f"characters, so column {label!r} does not contain classes; set data.label to the column of "
                        "classes"
                    )
                if not (name and value.strip()):
                    bad.append(place)
                    continue
                places.append(place)
                labels.append(sys.intern(name))
                if group is not None:
                    groups.append(rows.columns[group][i])
                yield value

    texts = StoredTexts(folder, good_texts())
    if bad:
        bad_places = format_places(rows.unit, bad)
        if on_bad_rows == "error":
            raise UserError(
                f"{rows.source}: no {text!r} or no {label!r} in {bad_places}. Correct the file, or drop such "
                "rows with data.on_bad_rows=drop"
            )
        log.warning("%s: dropped %s, because %r or %r is missing", rows.source, bad_places, text, label)
    if not labels:
        raise UserError(f"{rows.source}: no row has both {text!r} and {label!r}")
    return Examples(rows.source, rows.unit, places, texts, labels, groups)


def validate_options(text: str, label: str, on_bad_rows: str) -> None:
    """Check the options of `select_examples`.

    Raises:
        ValueError: if `on_bad_rows` is neither "error" nor "drop", or if `text` and `label` are the same column: a
            model would learn to copy the label.
    """
    if on_bad_rows not in ("error", "drop"):
        raise ValueError(f"on_bad_rows={on_bad_rows!r}: must be 'error' or 'drop'")
    if text == label:
        raise ValueError(f"text={text!r}: is also the column of labels: set data.text or data.label to another column")


def cell_texts(rows: Rows, column: str) -> list[str]:
    """Return the cells of a column as strings; a missing value, NaN or infinity becomes an empty string.

    Raises:
        UserError: if a cell is neither valid text nor a number nor a boolean.
    """
    texts = []
    for i, value in enumerate(rows.columns[column]):
        try:
            texts.append(_string(value))
        except ValueError as error:
            raise UserError(f"{rows.source}: {rows.describe_places([i])}: column {column!r} holds {error}") from None
    return texts


def _string(value: Any) -> str:
    """Convert a cell to a string; a missing value, NaN or infinity becomes an empty string, and 2.0 becomes "2".

    Raises:
        ValueError: if the cell is neither valid text nor a number nor a boolean; text is invalid if it contains an
            unpaired surrogate or bytes that are not UTF-8. The message describes the cell and states the remedy.
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
                f"an unpaired surrogate, which is not a character, in {format_repr(value)}; delete or replace it"
            ) from None
        return value
    if isinstance(value, float | Decimal):
        if not math.isfinite(value):
            return ""
        return str(int(value)) if value % 1 == 0 else str(value)
    if isinstance(value, int):  # includes bool
        return str(value)
    raise ValueError(
        f"a value of type {type(value).__name__}, {format_repr(value)}; save the column as strings or numbers"
    )

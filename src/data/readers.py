"""Rows of CSV, TSV, JSONL and Parquet files, and what can be wrong with them."""

import csv
import io
import json
import logging
import math
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np

from src.data.files import nearest, opened, read_text
from src.data.listing import listed, shown
from src.errors import UserError

log = logging.getLogger(__name__)
SHOWN = 5  # rows named in a message
BATCH = 1000  # rows of a Parquet file decoded at a time
LONGEST_LABEL = 1000  # characters; a longer label is no class, and Python converts no number of 5,000 digits
MOST_FRACTIONS = 100  # different numbers with a fraction that may still be classes, such as ratings
WHOLE = re.compile(r"[-+]?\d+")
NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?", re.IGNORECASE)
csv.field_size_limit(2**31 - 1)  # a text may be longer than the 128 KiB that the csv module allows


@dataclass(frozen=True)
class Rows:
    """Columns of a file, as read."""

    source: str  # the file's path, for messages
    unit: str  # what `places` counts: "line" of a text file, "row" of a table
    places: Sequence[int]  # n, from 1: where each row begins
    columns: dict[str, list[Any]]  # n values each


@dataclass(frozen=True)
class Examples:
    """Rows that have a text and a label, both as strings."""

    rows: Rows
    kept: Sequence[int]  # m, positions in rows
    texts: list[str]  # m
    labels: list[str]  # m


def read_rows(path: Path, columns: Sequence[str]) -> Rows:
    """The named columns of a file whose extension tells its format.

    Raises:
        UserError: unknown extension, a file that cannot be read, is empty or damaged, or is not UTF-8, a malformed
            line, a column that is missing or not the only one of its name.
    """
    reader = READERS.get(path.suffix.lower())
    if reader is None:
        raise UserError(f"{path}: its extension must be {', '.join(READERS)}, as it tells the format")
    with opened(path) as file:
        if not file.read(1):
            raise UserError(f"{path}: the file is empty")
    rows = reader(path, columns)
    if not rows.places:
        raise UserError(f"{path}: the file has no rows")
    return rows


def examples(rows: Rows, text: str, label: str, on_bad_rows: str) -> Examples:
    """Texts and labels of the rows that have both; the others are an error or dropped, as `on_bad_rows` says.

    Raises:
        UserError: `on_bad_rows` is "error" and a row lacks one, or no row has both; a value is no text and no number;
            or a label is too long for a class.
    """
    texts = _strings(rows, text)
    labels = [value.strip() for value in _strings(rows, label)]
    if long := [i for i, name in enumerate(labels) if len(name) > LONGEST_LABEL]:
        raise UserError(
            f"{rows.source}: {located(rows, long)}: the label {shown(labels[long[0]])} has {len(labels[long[0]]):,} "
            f"characters, so column {label!r} does not hold classes; name the column that does with data.label"
        )
    kept = [i for i, (one, other) in enumerate(zip(texts, labels, strict=True)) if one.strip() and other]
    if bad := sorted(set(range(len(texts))) - set(kept)):
        where = located(rows, bad)
        if on_bad_rows == "error":
            raise UserError(
                f"{rows.source}: no {text!r} or no {label!r} in {where}. Mend the file, or leave such rows "
                "out with data.on_bad_rows=drop"
            )
        log.warning("%s: dropped %s, without %r or %r", rows.source, where, text, label)
    if not kept:
        raise UserError(f"{rows.source}: no row has both {text!r} and {label!r}")
    return Examples(rows, kept, [texts[i] for i in kept], [labels[i] for i in kept])


def names_of(labels: Sequence[str], source: str) -> tuple[str, ...]:
    """The classes that occur, in order of number where all are numbers and of the alphabet else.

    Raises:
        UserError: fewer than two occur, or so many fractions that they are measurements and no classes.
    """
    names = sorted(set(labels))  # equal numbers, such as 1 and 01, stay in order of the alphabet
    if len(names) < 2:
        raise UserError(f"{source}: every row has the label {shown(names[0])}; learning takes two classes")
    if all(map(WHOLE.fullmatch, names)):
        return tuple(sorted(names, key=int))
    if all(map(NUMBER.fullmatch, names)):
        names.sort(key=float)
        if len(names) > MOST_FRACTIONS:
            raise UserError(
                f"{source}: the labels are {len(names):,} different numbers, {listed(names, plain=True)}. Heed "
                "classifies; it does no regression. Name a column of classes with data.label, or put the numbers "
                "into a few classes"
            )
    return tuple(names)


def encode_labels(some: Examples, class_names: Sequence[str]) -> np.ndarray:
    """The class number of each row: m int64.

    Raises:
        UserError: a label is none of `class_names`.
    """
    number = {name: i for i, name in enumerate(class_names)}
    if bad := [i for i, name in enumerate(some.labels) if name not in number]:
        name = some.labels[bad[0]]
        where = located(some.rows, [some.kept[i] for i in bad])
        raise UserError(
            f"{some.rows.source}: {where}: label {shown(name)} is none of {listed(class_names, plain=True)}"
            f"{nearest(name, class_names)}"
        )
    return np.array([number[name] for name in some.labels], dtype=np.int64)


def known_classes(labels: Sequence[Any] | None) -> tuple[str, ...] | None:
    """Class names as a user listed them.

    Raises:
        ValueError: fewer than two, or one twice.
    """
    if labels is None:
        return None
    names = tuple(str(name) for name in labels)
    if len(names) < 2 or len(set(names)) < len(names):
        raise ValueError(f"labels={list(names)}: must be two or more different classes")
    return names


def checked_policy(on_bad_rows: str) -> str:
    """`on_bad_rows`, or ValueError where it is neither "error" nor "drop"."""
    if on_bad_rows not in ("error", "drop"):
        raise ValueError(f"on_bad_rows={on_bad_rows!r}: must be 'error' or 'drop'")
    return on_bad_rows


def located(rows: Rows, at: Sequence[int]) -> str:
    """'lines 3, 9 and 12 (3 in all)': the first few places of the rows at these positions."""
    shown = ", ".join(str(rows.places[i]) for i in at[:SHOWN])
    if len(at) == 1:
        return f"{rows.unit} {shown}"
    return f"{rows.unit}s {shown}{', …' if len(at) > SHOWN else ''} ({len(at):,} in all)"


def check_columns(source: str, wanted: Sequence[str], columns: Sequence[str]) -> None:
    """Raises UserError where one of the wanted columns is missing, or where several have its name."""
    for name in wanted:
        if name not in columns:
            raise UserError(
                f"{source}: no column {name!r}{nearest(name, columns)}; its columns are {listed(columns) or 'none'}. "
                "Name yours with data.text and data.label"
            )
        if (count := columns.count(name)) > 1:
            raise UserError(f"{source}: {count} columns are called {name!r}; rename all of them but one")


def _strings(rows: Rows, column: str) -> list[str]:
    """The cells of a column as text.

    Raises:
        UserError: a cell is neither text nor a number.
    """
    texts = []
    for i, value in enumerate(rows.columns[column]):
        try:
            texts.append(_string(value))
        except ValueError as error:
            raise UserError(f"{rows.source}: {located(rows, [i])}: column {column!r} holds {error}") from None
    return texts


def _string(value: Any) -> str:
    """A cell as text: bytes decoded, whole numbers without a point, nothing for a missing value.

    Raises:
        ValueError: the cell is neither text nor a number; says what it is, and what to do.
    """
    if value is None:
        return ""
    if isinstance(value, bytes):
        try:
            value = value.decode()
        except UnicodeDecodeError:
            raise ValueError(f"bytes that are not UTF-8, {shown(value)}; save the column as strings") from None
    if isinstance(value, str):
        try:
            value.encode()
        except UnicodeEncodeError:
            raise ValueError(f"half a surrogate pair, which is no character, in {shown(value)}; correct it") from None
        return value
    if isinstance(value, float | Decimal):
        if not math.isfinite(value):
            return ""
        return str(int(value)) if value % 1 == 0 else str(value)
    if isinstance(value, int):  # a bool, too
        return str(value)
    raise ValueError(f"a value of type {type(value).__name__}, {shown(value)}; save strings or numbers there")


def _delimited(delimiter: str) -> Callable[[Path, Sequence[str]], Rows]:
    def read(path: Path, columns: Sequence[str]) -> Rows:
        lines = csv.reader(io.StringIO(_text(path), newline=""), delimiter=delimiter, strict=True)
        places: list[int] = []
        records: list[list[str]] = []
        begin = 0
        try:
            header = next((record for record in lines if record), [])
            check_columns(str(path), columns, header)
            begin = lines.line_num + 1
            for record in lines:
                if record and len(record) != len(header):
                    raise UserError(
                        f"{path}: line {begin} has {len(record)} fields where the header has {len(header)}; "
                        "a field that contains the separator or a line break must stand in double quotes"
                    )
                if record:
                    places.append(begin)
                    records.append(record)
                begin = lines.line_num + 1
        except csv.Error as error:
            raise UserError(
                f"{path}: line {begin} is malformed ({error}); a field that contains a double quote must "
                "stand in double quotes, with its own doubled"
            ) from None
        position = {name: header.index(name) for name in columns}
        return Rows(str(path), "line", places, {name: [r[i] for r in records] for name, i in position.items()})

    return read


def _text(path: Path) -> str:
    text = read_text(path)
    if not text or text.isspace():
        raise UserError(f"{path}: the file has no rows, only blank lines")
    return text


def _jsonl(path: Path, columns: Sequence[str]) -> Rows:
    def object_of(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        record = dict(pairs)
        if len(record) < len(pairs):
            check_columns(
                f"{path}: line {place}", [name for name in columns if name in record], [key for key, _ in pairs]
            )
        return record

    places: list[int] = []
    records: list[dict[str, Any]] = []
    for place, line in enumerate(_text(path).split("\n"), start=1):
        if not line.strip():
            continue
        try:
            record = json.loads(line, object_pairs_hook=object_of)
        except json.JSONDecodeError as error:
            position = f"line {place}, column {error.colno}"
            raise UserError(f"{path}: {position}: is no JSON ({error.msg}); each line must be one object") from None
        except RecursionError:
            raise UserError(f"{path}: line {place}: its JSON is nested too deep to be read") from None
        except ValueError as error:  # a number of more digits than Python converts
            raise UserError(f"{path}: line {place}: a number cannot be read ({error})") from None
        if not isinstance(record, dict):
            raise UserError(f"{path}: line {place}: is no JSON object; each line must be one")
        places.append(place)
        records.append(record)
    if records:
        check_columns(str(path), columns, list(dict.fromkeys(key for record in records for key in record)))
    return Rows(str(path), "line", places, {name: [r.get(name) for r in records] for name in columns})


def _parquet(path: Path, columns: Sequence[str]) -> Rows:
    import pyarrow.parquet as pq

    values: dict[str, list[Any]] = {name: [] for name in columns}
    count = 0
    with _readable_parquet(str(path)):
        file = pq.ParquetFile(path, page_checksum_verification=True)
    with file:
        check_columns(str(path), columns, file.schema_arrow.names)
        batches = file.iter_batches(BATCH, columns=list(columns))  # not all of the file beside its values
        while True:
            with _readable_parquet(f"{path}: after row {count:,}"):
                batch = next(batches, None)
            if batch is None:
                break
            for name, cells in values.items():
                cells += _cells(batch.column(name), f"{path}: column {name!r}", count)
            count += batch.num_rows
    return Rows(str(path), "row", range(1, count + 1), values)


def _cells(column: Any, source: str, before: int) -> list[Any]:
    """The values of a part of a Parquet column, with `before` rows before it."""
    try:
        return column.to_pylist()
    except (ValueError, OverflowError):  # a string that is not UTF-8, a date before the year 1
        for i, cell in enumerate(column):
            try:
                cell.as_py()
            except (ValueError, OverflowError) as error:
                place = f"{source}: row {before + i + 1}"
                raise UserError(f"{place}: the value is damaged, or neither text nor a number ({error})") from None
        raise


@contextmanager
def _readable_parquet(place: str) -> Iterator[None]:
    """Name the place where a Parquet file cannot be read: pyarrow raises errors of many types."""
    import pyarrow as pa

    try:
        yield
    except (pa.ArrowException, OSError, ValueError, OverflowError) as error:
        reason = str(error).strip().partition("\n")[0]
        raise UserError(f"{place}: is no Parquet file, or a damaged one ({reason}); write it again") from None


READERS: dict[str, Callable[[Path, Sequence[str]], Rows]] = {
    ".csv": _delimited(","),
    ".tsv": _delimited("\t"),
    ".jsonl": _jsonl,
    ".parquet": _parquet,
}

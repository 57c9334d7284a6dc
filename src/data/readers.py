"""Readers of CSV, TSV, JSONL and Parquet files, with errors that name the faulty rows."""

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

from src.data.files import nearest, open_file, read_text
from src.data.listing import listed, shown
from src.errors import UserError

log = logging.getLogger(__name__)
SHOWN = 5  # rows named in a message
BATCH = 1000  # rows of a Parquet file decoded at a time
LONGEST_LABEL = 1000  # characters; longer labels are not classes, and int() refuses 5,000 digits
MOST_FRACTIONS = 100  # distinct fractional numbers that may still be classes, such as ratings
WHOLE = re.compile(r"[-+]?\d+")
NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?", re.IGNORECASE)
csv.field_size_limit(2**31 - 1)  # a text may be longer than the 128 KiB that the csv module allows


@dataclass(frozen=True)
class Rows:
    """The columns of a file."""

    source: str  # the file's path, for messages
    unit: str  # of `places`: "line" of a text file or "row" of a table
    places: Sequence[int]  # n, from 1: the first line or the number of each row
    columns: dict[str, list[Any]]  # n values each


@dataclass(frozen=True)
class Examples:
    """The rows with both a text and a label, as strings."""

    rows: Rows
    positions: Sequence[int]  # m, in rows
    texts: list[str]  # m
    labels: list[str]  # m


def read_rows(path: Path, columns: Sequence[str]) -> Rows:
    """Read columns of a file; its extension determines the format.

    Raises:
        UserError: if the extension is unknown, the file is unreadable, empty, damaged or not UTF-8, a line is
            malformed, or a column is missing or not unique.
    """
    reader = READERS.get(path.suffix.lower())
    if reader is None:
        raise UserError(f"{path}: unknown extension; it must be one of {', '.join(READERS)}")
    with open_file(path) as file:
        if not file.read(1):
            raise UserError(f"{path}: the file is empty")
    rows = reader(path, columns)
    if not rows.places:
        raise UserError(f"{path}: the file has no rows")
    return rows


def select_examples(rows: Rows, text: str, label: str, on_bad_rows: str) -> Examples:
    """The texts and labels of the rows that have both; `on_bad_rows` drops other rows or raises an error.

    Raises:
        UserError: if `on_bad_rows` is "error" and a row lacks one, if no row has both, if a value is neither text nor a
            number, or if a label is too long for a class.
    """
    texts = _strings(rows, text)
    labels = [value.strip() for value in _strings(rows, label)]
    if long := [i for i, name in enumerate(labels) if len(name) > LONGEST_LABEL]:
        raise UserError(
            f"{rows.source}: {located(rows, long)}: the label {shown(labels[long[0]])} has {len(labels[long[0]]):,} "
            f"characters, so column {label!r} does not hold classes; name the column that does with data.label"
        )
    positions = [i for i, (words, name) in enumerate(zip(texts, labels, strict=True)) if words.strip() and name]
    if bad := sorted(set(range(len(texts))) - set(positions)):
        places = located(rows, bad)
        if on_bad_rows == "error":
            raise UserError(
                f"{rows.source}: no {text!r} or no {label!r} in {places}. Correct the file, or drop such "
                "rows with data.on_bad_rows=drop"
            )
        log.warning("%s: dropped %s, without %r or %r", rows.source, places, text, label)
    if not positions:
        raise UserError(f"{rows.source}: no row has both {text!r} and {label!r}")
    return Examples(rows, positions, [texts[i] for i in positions], [labels[i] for i in positions])


def distinct_classes(labels: Sequence[str], source: str) -> tuple[str, ...]:
    """The distinct labels, in numerical order if all are numbers, otherwise in alphabetical order.

    Raises:
        UserError: if there are fewer than two, or so many fractional numbers that they must be measurements.
    """
    names = sorted(set(labels))  # equal numbers, such as 1 and 01, stay in alphabetical order
    if len(names) < 2:
        raise UserError(f"{source}: every row has the label {shown(names[0])}; training needs at least two classes")
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


def encode_labels(labelled: Examples, class_names: Sequence[str]) -> np.ndarray:
    """The class number of each row: m int64.

    Raises:
        UserError: if a label is not in `class_names`.
    """
    number = {name: i for i, name in enumerate(class_names)}
    if bad := [i for i, name in enumerate(labelled.labels) if name not in number]:
        name = labelled.labels[bad[0]]
        places = located(labelled.rows, [labelled.positions[i] for i in bad])
        raise UserError(
            f"{labelled.rows.source}: {places}: label {shown(name)} is not among the classes "
            f"{listed(class_names, plain=True)}{nearest(name, class_names)}"
        )
    return np.array([number[name] for name in labelled.labels], dtype=np.int64)


def parse_class_names(labels: Sequence[Any] | None) -> tuple[str, ...] | None:
    """The class names that a user listed, as strings.

    Raises:
        ValueError: if there are fewer than two, or duplicates.
    """
    if labels is None:
        return None
    names = tuple(str(name) for name in labels)
    if len(names) < 2 or len(set(names)) < len(names):
        raise ValueError(f"labels={list(names)}: must be two or more different classes")
    return names


def validate_policy(on_bad_rows: str) -> str:
    """Return `on_bad_rows`; raise ValueError unless it is "error" or "drop"."""
    if on_bad_rows not in ("error", "drop"):
        raise ValueError(f"on_bad_rows={on_bad_rows!r}: must be 'error' or 'drop'")
    return on_bad_rows


def located(rows: Rows, positions: Sequence[int]) -> str:
    """Format the places of rows: 'lines 3, 9, 12 (3 in all)', with the first few of many."""
    places = ", ".join(str(rows.places[i]) for i in positions[:SHOWN])
    if len(positions) == 1:
        return f"{rows.unit} {places}"
    return f"{rows.unit}s {places}{', …' if len(positions) > SHOWN else ''} ({len(positions):,} in all)"


def check_columns(source: str, required: Sequence[str], columns: Sequence[str]) -> None:
    """Raise a UserError if one of the required columns is missing or not unique."""
    for name in required:
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
        UserError: if a cell is neither text nor a number.
    """
    texts = []
    for i, value in enumerate(rows.columns[column]):
        try:
            texts.append(_string(value))
        except ValueError as error:
            raise UserError(f"{rows.source}: {located(rows, [i])}: column {column!r} holds {error}") from None
    return texts


def _string(value: Any) -> str:
    """Convert a cell to text: bytes are decoded, whole numbers get no point, missing values become empty.

    Raises:
        ValueError: if the cell is neither text nor a number; the message describes it and the remedy.
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
            raise ValueError(
                f"an unpaired surrogate, which is not a character, in {shown(value)}; correct it"
            ) from None
        return value
    if isinstance(value, float | Decimal):
        if not math.isfinite(value):
            return ""
        return str(int(value)) if value % 1 == 0 else str(value)
    if isinstance(value, int):  # includes bool
        return str(value)
    raise ValueError(f"a value of type {type(value).__name__}, {shown(value)}; save strings or numbers there")


def _delimited(delimiter: str) -> Callable[[Path, Sequence[str]], Rows]:
    def read(path: Path, columns: Sequence[str]) -> Rows:
        lines = csv.reader(io.StringIO(_text(path), newline=""), delimiter=delimiter, strict=True)
        places: list[int] = []
        records: list[list[str]] = []
        first_line = 0
        try:
            header = next((record for record in lines if record), [])
            check_columns(str(path), columns, header)
            first_line = lines.line_num + 1
            for record in lines:
                if record and len(record) != len(header):
                    raise UserError(
                        f"{path}: line {first_line} has {len(record)} fields where the header has {len(header)}; "
                        "a field that contains the separator or a line break must be in double quotes"
                    )
                if record:
                    places.append(first_line)
                    records.append(record)
                first_line = lines.line_num + 1
        except csv.Error as error:
            raise UserError(
                f"{path}: line {first_line} is malformed ({error}); a field that contains a double quote must "
                "be in double quotes, with its own doubled"
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
    def to_record(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
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
            record = json.loads(line, object_pairs_hook=to_record)
        except json.JSONDecodeError as error:
            position = f"line {place}, column {error.colno}"
            raise UserError(f"{path}: {position}: is not JSON ({error.msg}); each line must be one object") from None
        except RecursionError:
            raise UserError(f"{path}: line {place}: its JSON is nested too deeply") from None
        except ValueError as error:  # a number with more digits than int() converts
            raise UserError(f"{path}: line {place}: a number cannot be read ({error})") from None
        if not isinstance(record, dict):
            raise UserError(f"{path}: line {place}: is not a JSON object; each line must be one")
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
        batches = file.iter_batches(BATCH, columns=list(columns))  # not the whole file at once, next to its values
        while True:
            with _readable_parquet(f"{path}: after row {count:,}"):
                batch = next(batches, None)
            if batch is None:
                break
            for name, cells in values.items():
                cells += _cells(batch.column(name), f"{path}: column {name!r}", count)
            count += batch.num_rows
    return Rows(str(path), "row", range(1, count + 1), values)


def _cells(column: Any, source: str, preceding: int) -> list[Any]:
    """The values of a batch of a Parquet column that starts after `preceding` rows."""
    try:
        return column.to_pylist()
    except (ValueError, OverflowError):  # not UTF-8, or a date before year 1
        for i, cell in enumerate(column):
            try:
                cell.as_py()
            except (ValueError, OverflowError) as error:
                place = f"{source}: row {preceding + i + 1}"
                raise UserError(f"{place}: the value is damaged, or neither text nor a number ({error})") from None
        raise


@contextmanager
def _readable_parquet(place: str) -> Iterator[None]:
    """Raise a UserError with the place of a Parquet error; pyarrow raises errors of many types."""
    import pyarrow as pa

    try:
        yield
    except (pa.ArrowException, OSError, ValueError, OverflowError) as error:
        reason = str(error).strip().partition("\n")[0]
        raise UserError(f"{place}: is not a Parquet file, or is damaged ({reason}); write it again") from None


READERS: dict[str, Callable[[Path, Sequence[str]], Rows]] = {
    ".csv": _delimited(","),
    ".tsv": _delimited("\t"),
    ".jsonl": _jsonl,
    ".parquet": _parquet,
}

"""Rows of CSV, TSV, JSONL and Parquet files, and what can be wrong with them."""

import csv
import io
import json
import logging
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from src.data.files import nearest
from src.errors import UserError

log = logging.getLogger(__name__)
SHOWN = 5  # rows named in a message
BATCH = 1000  # rows of a Parquet file decoded at a time
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
        UserError: unknown extension, an empty or damaged file, bytes that are not UTF-8, a malformed line, a
            missing column.
    """
    reader = READERS.get(path.suffix.lower())
    if reader is None:
        raise UserError(f"{path}: its extension must be {', '.join(READERS)}, as it tells the format")
    if path.is_dir():
        raise UserError(f"{path}: is a folder; give a file")
    if path.stat().st_size == 0:
        raise UserError(f"{path}: the file is empty")
    rows = reader(path, columns)
    if not rows.places:
        raise UserError(f"{path}: the file has no rows")
    return rows


def examples(rows: Rows, text: str, label: str, on_bad_rows: str) -> Examples:
    """Texts and labels of the rows that have both; the others are an error or dropped, as `on_bad_rows` says.

    Raises:
        UserError: `on_bad_rows` is "error" and a row lacks one, or no row has both.
    """
    texts = [_string(value) for value in rows.columns[text]]
    labels = [_string(value).strip() for value in rows.columns[label]]
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
        UserError: fewer than two occur.
    """
    found = set(labels)
    if len(found) < 2:
        raise UserError(f"{source}: every row has the label {labels[0]!r}; learning takes two classes")
    if all(name.removeprefix("-").isdecimal() for name in found):
        return tuple(sorted(found, key=int))
    return tuple(sorted(found))


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
            f"{some.rows.source}: {where}: label {name!r} is none of {', '.join(class_names)}"
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


def check_columns(source: str, wanted: Sequence[str], found: Sequence[str]) -> None:
    """Raises UserError that lists the columns where one is missing."""
    for name in wanted:
        if name not in found:
            raise UserError(
                f"{source}: no column {name!r}{nearest(name, found)}; its columns are "
                f"{', '.join(map(repr, found))}. Name yours with data.text and data.label"
            )


def _string(value: Any) -> str:
    """A cell as text: whole floats without their point, nothing for a missing value or a nested one."""
    if value is None or isinstance(value, list | dict) or (isinstance(value, float) and math.isnan(value)):
        return ""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)


def _decoded(path: Path) -> str:
    data = path.read_bytes()
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise UserError(
            f"{path}: byte {error.start} (line {line}) is not UTF-8; save the file as UTF-8, for instance "
            "with `iconv -f WINDOWS-1252 -t UTF-8`"
        ) from None


def _delimited(delimiter: str) -> Callable[[Path, Sequence[str]], Rows]:
    def read(path: Path, columns: Sequence[str]) -> Rows:
        lines = csv.reader(io.StringIO(_decoded(path), newline=""), delimiter=delimiter, strict=True)
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
        at = {name: header.index(name) for name in columns}
        return Rows(str(path), "line", places, {name: [r[i] for r in records] for name, i in at.items()})

    return read


def _jsonl(path: Path, columns: Sequence[str]) -> Rows:
    places: list[int] = []
    records: list[dict[str, Any]] = []
    for place, line in enumerate(_decoded(path).split("\n"), start=1):
        if not line.strip():
            continue
        try:
            record = json.loads(line)
        except json.JSONDecodeError as error:
            at = f"line {place}, column {error.colno}"
            raise UserError(f"{path}: {at}: is no JSON ({error.msg}); each line must be one object") from None
        if not isinstance(record, dict):
            raise UserError(f"{path}: line {place}: is no JSON object; each line must be one")
        places.append(place)
        records.append(record)
    if records:
        check_columns(str(path), columns, list(dict.fromkeys(key for record in records for key in record)))
    return Rows(str(path), "line", places, {name: [r.get(name) for r in records] for name in columns})


def _parquet(path: Path, columns: Sequence[str]) -> Rows:
    import pyarrow as pa
    import pyarrow.parquet as pq

    values: dict[str, list[Any]] = {name: [] for name in columns}
    try:
        with pq.ParquetFile(path) as file:
            check_columns(str(path), columns, file.schema_arrow.names)
            for batch in file.iter_batches(BATCH, columns=list(columns)):  # not all of the file beside its values
                for name, column in values.items():
                    column += batch.column(name).to_pylist()
    except pa.ArrowException as error:
        raise UserError(f"{path}: is no Parquet file, or a damaged one ({error})") from None
    return Rows(str(path), "row", range(1, len(values[columns[0]]) + 1), values)


READERS: dict[str, Callable[[Path, Sequence[str]], Rows]] = {
    ".csv": _delimited(","),
    ".tsv": _delimited("\t"),
    ".jsonl": _jsonl,
    ".parquet": _parquet,
}

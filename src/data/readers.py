"""Readers of CSV, TSV, JSONL and Parquet files, with errors that name the faulty rows."""

import csv
import io
import json
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from src.data.files import open_file, read_text
from src.data.parquet import read_parquet
from src.data.rows import Rows, check_columns
from src.errors import UserError

csv.field_size_limit(2**31 - 1)  # a text may be longer than the 128 KiB that the csv module allows


def read_rows(path: Path, columns: Sequence[str] | None) -> Rows:
    """Read columns of a file, None all of them; its extension determines the format.

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


def _read_delimited(path: Path, columns: Sequence[str] | None, delimiter: str) -> Rows:
    records = _numbered_records(path, delimiter)
    _, header = next(records, (1, []))
    columns = header if columns is None else columns
    check_columns(str(path), columns, header)
    position = {name: header.index(name) for name in columns}
    places: list[int] = []
    values: dict[str, list[Any]] = {name: [] for name in columns}
    for line, record in records:
        if len(record) != len(header):
            raise UserError(
                f"{path}: line {line} has {len(record)} fields where the header has {len(header)}; "
                "a field that contains the separator or a line break must be in double quotes"
            )
        places.append(line)
        for name, i in position.items():
            values[name].append(record[i])
    return Rows(str(path), "line", places, values)


def _numbered_records(path: Path, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the records that are not blank, each with the number of its first line."""
    reader = csv.reader(io.StringIO(_read_lines(path), newline=""), delimiter=delimiter, strict=True)
    line = 1
    try:
        for record in reader:
            if record:
                yield line, record
            line = reader.line_num + 1
    except csv.Error as error:
        raise UserError(
            f"{path}: line {line} is malformed ({error}); a field that contains a double quote must "
            "be in double quotes, with its own doubled"
        ) from None


def _read_jsonl(path: Path, columns: Sequence[str] | None) -> Rows:
    lines = enumerate(_read_lines(path).split("\n"), start=1)
    records = {line: _parse_object(text, f"{path}: line {line}", columns) for line, text in lines if text.strip()}
    names = list(dict.fromkeys(name for record in records.values() for name in record))
    columns = names if columns is None else columns
    check_columns(str(path), columns, names)
    return Rows(
        str(path), "line", list(records), {name: [record.get(name) for record in records.values()] for name in columns}
    )


def _parse_object(text: str, place: str, columns: Sequence[str] | None) -> dict[str, Any]:
    """Parse a line of JSON; of `columns`, none may occur twice in it; None are all."""

    def to_dict(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        record = dict(pairs)
        if len(record) < len(pairs):
            check_columns(
                place, [name for name in record if columns is None or name in columns], [name for name, _ in pairs]
            )
        return record

    try:
        record = json.loads(text, object_pairs_hook=to_dict)
    except json.JSONDecodeError as error:
        column = f"{place}, column {error.colno}"
        raise UserError(f"{column}: is not JSON ({error.msg}); each line must be one object") from None
    except RecursionError:
        raise UserError(f"{place}: its JSON is nested too deeply") from None
    except ValueError as error:  # a number with more digits than int() converts
        raise UserError(f"{place}: a number cannot be read ({error})") from None
    if not isinstance(record, dict):
        raise UserError(f"{place}: is not a JSON object; each line must be one")
    return record


def _read_lines(path: Path) -> str:
    """Read the text of a file that is not blank."""
    text = read_text(path)
    if not text or text.isspace():
        raise UserError(f"{path}: the file has no rows, only blank lines")
    return text


READERS: dict[str, Callable[[Path, Sequence[str] | None], Rows]] = {
    ".csv": partial(_read_delimited, delimiter=","),
    ".tsv": partial(_read_delimited, delimiter="\t"),
    ".jsonl": _read_jsonl,
    ".parquet": read_parquet,
}

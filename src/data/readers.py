"""Readers of CSV, TSV, JSON and Parquet files, with errors that name the faulty rows."""

import csv
import io
import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from src.data.delimiter import detect_delimiter
from src.data.files import GZIP, file_format, open_file, read_text
from src.data.parquet import read_parquet
from src.data.rows import Rows, check_columns
from src.errors import UserError

DELIMITED = (".csv", ".tsv")
LINES = "each line must be one object"  # remedies
ARRAY = "the file must be one array of objects; name it .jsonl if each line is an object"
csv.field_size_limit(2**31 - 1)  # a text may be longer than the 128 KiB that the csv module allows


def read_rows(path: Path, columns: Sequence[str] | None, delimiter: str | None = None) -> Rows:
    """Read columns of a file; its extension determines the format. Text formats may be packed as .gz.

    Args:
        path: of the file.
        columns: their names; None reads all.
        delimiter: of a CSV or TSV file; None detects that of CSV, and is a tab in TSV.

    Raises:
        UserError: if the extension is unknown, the file is unreadable, empty, damaged or not UTF-8, a line is
            malformed, or a column is missing or not unique.
    """
    suffix = file_format(path)
    reader = READERS.get(suffix)
    if reader is None or (reader is read_parquet and path.suffix.lower() == GZIP):
        raise UserError(f"{path}: unknown extension; it must be one of {', '.join(READERS)}, or .csv.gz and so on")
    with open_file(path) as file:
        if not file.read(1):
            raise UserError(f"{path}: the file is empty")
    rows = _read_delimited(path, columns, delimiter) if suffix in DELIMITED else reader(path, columns)
    if not rows.places:
        raise UserError(f"{path}: the file has no rows")
    return rows


def _read_delimited(path: Path, columns: Sequence[str] | None, delimiter: str | None = None) -> Rows:
    text = _read_lines(path)
    delimiter = delimiter or ("\t" if file_format(path) == ".tsv" else detect_delimiter(text, columns))
    records = _numbered_records(text, path, delimiter)
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
                f"a field that contains the delimiter {delimiter!r} or a line break must be in double quotes"
            )
        places.append(line)
        for name, i in position.items():
            values[name].append(record[i])
    return Rows(str(path), "line", places, values)


def _numbered_records(text: str, path: Path, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the records that are not blank, each with the number of its first line."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
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
    records = {}
    for line, text in enumerate(_read_lines(path).split("\n"), start=1):
        if text.strip():
            place = f"{path}: line {line}"
            records[line] = _parse_json(text, place, lambda error, place=place: f"{place}, column {error.colno}", LINES)  # type: ignore[misc]
    return _to_rows(path, "line", records, LINES, columns)


def _read_json(path: Path, columns: Sequence[str] | None) -> Rows:
    array = _parse_json(
        _read_lines(path), str(path), lambda error: f"{path}: line {error.lineno}, column {error.colno}", ARRAY
    )
    if not isinstance(array, list):
        raise UserError(f"{path}: is not a JSON array; {ARRAY}")
    if not array:
        raise UserError(f"{path}: the file has no rows")
    return _to_rows(path, "record", dict(enumerate(array, start=1)), ARRAY, columns)


class _Repeating(dict[str, Any]):
    """A JSON object in which a name occurs twice, with all of its names."""

    names: list[str]


def _to_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    record = dict(pairs)
    if len(record) == len(pairs):
        return record
    repeating = _Repeating(record)
    repeating.names = [name for name, _ in pairs]
    return repeating


def _parse_json(text: str, place: str, locate: Callable[[json.JSONDecodeError], str], remedy: str) -> Any:
    try:
        return json.loads(text, object_pairs_hook=_to_object)
    except json.JSONDecodeError as error:
        raise UserError(f"{locate(error)}: is not JSON ({error.msg}); {remedy}") from None
    except RecursionError:
        raise UserError(f"{place}: its JSON is nested too deeply") from None
    except ValueError as error:  # a number with more digits than int() converts
        raise UserError(f"{place}: a number cannot be read ({error})") from None


def _to_rows(path: Path, unit: str, records: dict[int, Any], remedy: str, columns: Sequence[str] | None) -> Rows:
    """The rows of JSON objects by their places; of `columns`, none may occur twice in an object; None are all."""
    for place, record in records.items():
        if not isinstance(record, dict):
            raise UserError(f"{path}: {unit} {place}: is not a JSON object; {remedy}")
        if isinstance(record, _Repeating):
            required = [name for name in record if columns is None or name in columns]
            check_columns(f"{path}: {unit} {place}", required, record.names)
    names = list(dict.fromkeys(name for record in records.values() for name in record))
    columns = names if columns is None else columns
    check_columns(str(path), columns, names)
    values = {name: [record.get(name) for record in records.values()] for name in columns}
    return Rows(str(path), unit, list(records), values)


def _read_lines(path: Path) -> str:
    """Read the text of a file, which must not be blank."""
    text = read_text(path)
    if not text or text.isspace():
        raise UserError(f"{path}: the file has no rows, only blank lines")
    return text


READERS: dict[str, Callable[[Path, Sequence[str] | None], Rows]] = {
    ".csv": _read_delimited,
    ".tsv": _read_delimited,
    ".jsonl": _read_jsonl,
    ".parquet": read_parquet,
    ".json": _read_json,
}

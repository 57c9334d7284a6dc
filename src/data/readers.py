"""Read CSV, TSV, JSON and Parquet files; errors name the faulty rows."""

import csv
import json
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from src.data.delimiter import detect_delimiter
from src.data.files import GZIP, file_format, open_file, open_text, read_text
from src.data.parquet import read_parquet
from src.data.rows import Rows, check_columns
from src.errors import UserError

DELIMITED = (".csv", ".tsv")
CHUNK = 1000  # rows read at a time
HEAD_SIZE = 1 << 20  # characters in which the delimiter is detected; a header should be shorter
JSONL_RULE = "each line must be one object"
JSON_RULE = "the file must be one array of objects; name it .jsonl if each line is an object"
csv.field_size_limit(2**31 - 1)  # characters; a text may exceed the default limit of 131,072


def read_chunks(path: Path, columns: Sequence[str] | None, delimiter: str | None = None) -> Iterator[Rows]:
    """Yield the rows of a file in chunks.

    The extension of the file determines its format; text formats may be compressed as .gz. A JSON array is read as a
    whole; for other formats, the use of memory does not depend on the size of the file.

    Args:
        columns: names of the required columns; None reads all columns, which for JSON may differ between chunks.
        delimiter: delimiter of a CSV or TSV file; None detects it in a CSV file, and means a tab in a TSV file.

    Raises:
        UserError: if the extension is unknown, if the file is unreadable, empty, damaged or not UTF-8, or if a line is
            malformed.
        ColumnError: if a column is missing or not unique. For JSON files only, this error may occur after rows have
            been yielded.
    """
    suffix = file_format(path)
    reader = READERS.get(suffix)
    if reader is None or (reader is read_parquet and path.suffix.lower() == GZIP):
        raise UserError(
            f"{path}: unknown extension; it must be one of {', '.join(READERS)}; .gz may follow any but .parquet"
        )
    with open_file(path) as file:
        if not file.read(1):
            raise UserError(f"{path}: the file is empty")
    is_empty = True
    for rows in _read_delimited(path, columns, delimiter) if suffix in DELIMITED else reader(path, columns):
        is_empty = False
        yield rows
    if is_empty:
        raise UserError(f"{path}: the file has no rows")


def _read_delimited(path: Path, columns: Sequence[str] | None, delimiter: str | None = None) -> Iterator[Rows]:
    head = _read_head(path)
    delimiter = delimiter or ("\t" if file_format(path) == ".tsv" else detect_delimiter(head, columns))
    with open_text(path) as text:
        records = _numbered_records(text, path, delimiter)
        _, header = next(records, (1, []))
        columns = header if columns is None else columns
        check_columns(str(path), columns, header)
        position = {name: header.index(name) for name in columns}
        while chunk := list(islice(records, CHUNK)):
            for line, record in chunk:
                if len(record) != len(header):
                    raise UserError(
                        f"{path}: line {line} has {len(record)} fields where the header has {len(header)}; "
                        f"a field that contains the delimiter {delimiter!r} or a line break must be in double quotes"
                    )
            values = {name: [record[i] for _, record in chunk] for name, i in position.items()}
            yield Rows(str(path), "line", [line for line, _ in chunk], values)


def _numbered_records(lines: Iterable[str], path: Path, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """Yield each record that is not blank, and the number of its first line."""
    reader = csv.reader(lines, delimiter=delimiter, strict=True)
    line = 1
    try:
        for record in reader:
            if record:
                yield line, record
            line = reader.line_num + 1
    except csv.Error as error:
        raise UserError(
            f"{path}: line {line} is malformed ({error}); a field that contains a double quote must "
            "be in double quotes, and each double quote in it must be doubled"
        ) from None


def _read_jsonl(path: Path, columns: Sequence[str] | None) -> Iterator[Rows]:
    _read_head(path)
    with open_text(path, newline="\n") as text:
        lines = ((number, line) for number, line in enumerate(text, start=1) if line.strip())
        records = ((number, _parse_json(line, path, JSONL_RULE, number)) for number, line in lines)
        yield from _to_rows(path, "line", records, columns)


def _read_json(path: Path, columns: Sequence[str] | None) -> Iterator[Rows]:
    _read_head(path)
    array = _parse_json(read_text(path), path, JSON_RULE)
    if not isinstance(array, list):
        raise UserError(f"{path}: is not a JSON array; {JSON_RULE}")
    if array:
        yield from _to_rows(path, "record", enumerate(array, start=1), columns)


class _Repeating(dict[str, Any]):
    """A JSON object in which a name occurs more than once; `names` contains every occurrence."""

    names: list[str]


def _to_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    record = dict(pairs)
    if len(record) == len(pairs):
        return record
    repeating = _Repeating(record)
    repeating.names = [name for name, _ in pairs]
    return repeating


def _parse_json(text: str, path: Path, rule: str, line: int | None = None) -> Any:
    """Parse a line of a file, or the whole file if `line` is None; `rule` states the expected content, for messages."""
    place = str(path) if line is None else f"{path}: line {line}"
    try:
        return json.loads(text, object_pairs_hook=_to_object)
    except json.JSONDecodeError as error:
        raise UserError(
            f"{path}: line {line or error.lineno}, column {error.colno}: is not JSON ({error.msg}); {rule}"
        ) from None
    except RecursionError:
        raise UserError(f"{place}: the JSON is nested too deeply") from None
    except ValueError:  # a number with more digits than int() converts
        digits = sys.get_int_max_str_digits()
        raise UserError(f"{place}: a number has more than {digits:,} digits: shorten it, or write it as text") from None


def _to_rows(
    path: Path, unit: str, records: Iterable[tuple[int, Any]], columns: Sequence[str] | None
) -> Iterator[Rows]:
    """Yield the rows of JSON objects in chunks, with these columns, or with all columns if `columns` is None.

    Raises:
        UserError: if a record is not an object.
        ColumnError: if a column occurs twice in an object, or is missing in all objects.
    """
    records = iter(records)
    names: dict[str, None] = {}
    while chunk := list(islice(records, CHUNK)):
        for place, record in chunk:
            if not isinstance(record, dict):
                rule = JSONL_RULE if unit == "line" else JSON_RULE
                raise UserError(f"{path}: {unit} {place}: is not a JSON object; {rule}")
            if isinstance(record, _Repeating):
                required = [name for name in record if columns is None or name in columns]
                check_columns(f"{path}: {unit} {place}", required, record.names)
        own = dict.fromkeys(name for _, record in chunk for name in record)
        names |= own
        values = {name: [record.get(name) for _, record in chunk] for name in (own if columns is None else columns)}
        yield Rows(str(path), unit, [place for place, _ in chunk], values)
    check_columns(str(path), columns or (), list(names))


def _read_head(path: Path) -> str:
    """Return the beginning of the text of a file; raise a UserError if the file contains only whitespace."""
    with open_text(path) as text:
        head = text.read(HEAD_SIZE)
    if len(head) < HEAD_SIZE and not head.strip():
        raise UserError(f"{path}: the file has no rows, only blank lines")
    return head


READERS: dict[str, Callable[[Path, Sequence[str] | None], Iterator[Rows]]] = {
    ".csv": _read_delimited,
    ".tsv": _read_delimited,
    ".jsonl": _read_jsonl,
    ".parquet": read_parquet,
    ".json": _read_json,
}

"""Read the rows of CSV, TSV, JSON and Parquet files and of Arrow data; errors name the faulty rows."""

import csv
import io
import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from decimal import Decimal
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from src.data.files import GZIP, file_format, open_text, read_text
from src.errors import UserError
from src.formatting import format_list, format_repr
from src.misspellings import suggestion

DELIMITED = (".csv", ".tsv")
FORMATS = (*DELIMITED, ".jsonl", ".parquet", ".json")
DELIMITER_NAMES = {"comma": ",", "semicolon": ";", "tab": "\t", "pipe": "|", "\\t": "\t"}
DETECTED = (",", ";", "\t", "|")  # the delimiters of a CSV file that are detected, in order of preference
CHUNK = 1000  # rows read at a time
HEAD_SIZE = 1 << 20  # characters in which the delimiter is detected; a header should be shorter
MAX_PLACES = 5  # maximum number of rows that a message lists
JSONL_RULE = "each line must be one object"
JSON_RULE = "the file must be one array of objects; name it .jsonl if each line is an object"
csv.field_size_limit(2**31 - 1)  # characters; a text may exceed the default limit of 131,072


@dataclass(frozen=True)
class Rows:
    """The columns of some consecutive rows of a file or data set."""

    source: str  # path of the file or name of the data set, for messages
    unit: str  # unit of `places`: "line" of a text file, "record" of a JSON array, or "row" of a table
    places: Sequence[int]  # n; the line at which each row starts, or the row's number, both counted from 1
    columns: dict[str, Any]  # n values per column: a list, or an Arrow array
    class_names: Mapping[str, Sequence[str]] = field(default_factory=dict)  # of columns whose integers index classes

    def describe_places(self, indices: Sequence[int]) -> str:
        """Format the places of the rows with these indices."""
        return format_places(self.unit, [self.places[i] for i in indices])

    def values(self, column: str) -> list[Any]:
        """Return the cells of a column; each is None if the rows lack the column.

        Raises:
            UserError: if a cell is damaged.
        """
        cells = self.columns.get(column, [None] * len(self.places))
        if isinstance(cells, list):
            return cells
        if cells.type == pa.float32():
            return [None if cell is None else float(str(np.float32(cell))) for cell in cells.to_pylist()]  # 0.1 is 0.1
        try:
            return list(cells.to_pylist())
        except (ValueError, OverflowError) as error:  # text that is not UTF-8, or a date before year 1
            place = f"{self.source}: {self.unit}s {self.places[0]:,} to {self.places[-1]:,}"
            raise UserError(f"{place}: column {column!r} has a damaged value ({error})") from None

    def texts(self, column: str) -> list[str]:
        """Return the cells of a column as strings; a missing value, NaN or infinity becomes an empty string.

        Raises:
            UserError: if a cell is neither valid text nor a number nor a boolean.
        """
        texts = []
        for i, value in enumerate(self.values(column)):
            try:
                texts.append(_text(value))
            except ValueError as error:
                place = self.describe_places([i])
                raise UserError(f"{self.source}: {place}: column {column!r} holds {error}") from None
        return texts


def _text(value: Any) -> str:
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


def format_places(unit: str, places: Sequence[int]) -> str:
    """Format the places of rows, such as 'lines 3, 9, 12 (3 in all)'; at most `MAX_PLACES` are listed."""
    first = ", ".join(map(str, places[:MAX_PLACES]))
    if len(places) == 1:
        return f"{unit} {first}"
    return f"{unit}s {first}{', …' if len(places) > MAX_PLACES else ''} ({len(places):,} in all)"


def check_columns(source: str, required: Sequence[str], columns: Sequence[str]) -> None:
    """Check the columns of a file or data set.

    Raises:
        UserError: if a required column is missing or not unique.
    """
    for name in required:
        if name not in columns:
            raise UserError(
                f"{source}: no column {name!r}{suggestion(name, columns)}; its columns are "
                f"{format_list(columns) or 'none'}. Specify your columns with data.text and data.label, or with "
                "text_column of src.predict"
            )
        if (count := columns.count(name)) > 1:
            raise UserError(f"{source}: {count} columns are called {name!r}; rename all but one of them")


def read_file(
    path: Path, required: Sequence[str], others: bool = False, delimiter: str | None = None, quotes: bool = True
) -> Iterator[Rows]:
    """Yield the rows of a file in chunks.

    The extension of the file determines its format; text formats may be compressed as .gz. A JSON array is read as a
    whole; for other formats, the use of memory does not depend on the size of the file.

    Args:
        required: names of the columns that must exist. A chunk of JSON objects may lack them.
        others: whether to read all other columns, too; those of JSON objects may differ between chunks.
        delimiter: delimiter of a CSV or TSV file; None detects it in a CSV file, and means a tab in a TSV file.
        quotes: whether double quotes in a CSV or TSV file enclose fields; otherwise they are part of the text.

    Raises:
        UserError: if the extension is unknown, if the file is unreadable, empty, damaged or not UTF-8, or if a line is
            malformed; or if a column is missing or not unique.
    """
    suffix = file_format(path)
    if suffix not in FORMATS or (suffix == ".parquet" and path.suffix.lower() == GZIP):
        raise UserError(
            f"{path}: unknown extension; it must be one of {', '.join(FORMATS)}; .gz may follow any but .parquet"
        )
    if suffix in DELIMITED:
        chunks = _read_delimited(path, required, others, delimiter, quotes)
    else:
        chunks = (_read_parquet if suffix == ".parquet" else _read_json)(path, required, others)
    is_empty = True
    for chunk in chunks:
        is_empty = False
        yield chunk
    if is_empty:
        raise UserError(f"{path}: the file has no rows")


def parse_delimiter(value: str | None) -> str | None:
    """Convert an option value, a character or a name such as `semicolon`, to a delimiter; None stays None.

    Raises:
        ValueError: if the value is neither the name of a delimiter nor a character that can separate fields.
    """
    if value is None:
        return None
    delimiter = DELIMITER_NAMES.get(value, value)
    if len(delimiter) != 1 or delimiter.isalnum() or delimiter in '"\r\n\0':
        raise ValueError(
            f"delimiter={value!r}: must be comma, semicolon, tab, pipe, or another character except letters, "
            "digits, double quotes and line breaks"
        )
    return delimiter


def detect_delimiter(text: str, columns: Sequence[str]) -> str:
    """Return the delimiter with which the header of a CSV file has all `columns`, or else the most columns.

    Args:
        text: the beginning of the file, with the whole header.
    """
    headers: dict[str, list[str]] = {}
    for delimiter in DETECTED:
        records = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
        with suppress(csv.Error):
            headers[delimiter] = next((record for record in records if record), [])
    complete = (delimiter for delimiter, header in headers.items() if set(columns) <= set(header))
    return next(complete, max(headers, key=lambda delimiter: len(headers[delimiter]), default=DETECTED[0]))


def _read_delimited(
    path: Path, required: Sequence[str], others: bool, delimiter: str | None, quotes: bool
) -> Iterator[Rows]:
    with open_text(path) as text:
        head = text.read(HEAD_SIZE)
    is_marked = head.startswith("sep=") and head[5:6] in ("\r", "\n")  # the first line that Excel writes
    if is_marked:
        delimiter = delimiter or head[4]
    delimiter = delimiter or ("\t" if file_format(path) == ".tsv" else detect_delimiter(head, required))
    with open_text(path) as text:
        records = _numbered_records(text, path, delimiter, quotes)
        if is_marked:
            next(records)
        header = next((record for _, record in records if record), None)
        if header is None:
            return
        check_columns(str(path), [*required, *(header if others else [])], header)
        position = {name: i for i, name in enumerate(header) if others or name in required}
        filled = ((line, record or [""]) for line, record in records if record or len(header) == 1)
        while chunk := list(islice(filled, CHUNK)):
            for line, record in chunk:
                if len(record) != len(header):
                    raise UserError(
                        f"{path}: line {line} has {len(record)} fields where the header has {len(header)}; "
                        f"a field that contains the delimiter {delimiter!r} or a line break must be in double quotes"
                    )
                if record == header and len(header) > 1:
                    raise UserError(f"{path}: line {line} repeats the header, as in joined files; delete the line")
            values = {name: [record[i] for _, record in chunk] for name, i in position.items()}
            yield Rows(str(path), "line", [line for line, _ in chunk], values)


def _numbered_records(
    lines: Iterable[str], path: Path, delimiter: str, quotes: bool
) -> Iterator[tuple[int, list[str]]]:
    """Yield each record, and the number of its first line; a blank line is an empty record."""
    reader = csv.reader(
        lines, delimiter=delimiter, strict=True, quoting=csv.QUOTE_MINIMAL if quotes else csv.QUOTE_NONE
    )
    line = 1
    try:
        for record in reader:
            if delimiter == "\t" and reader.line_num > line and any("\t" in field for field in record):
                raise UserError(
                    f"{path}: a double quote in line {line} encloses a tab and a line break, up to line "
                    f"{reader.line_num}; if double quotes are part of the texts, set data.quotes=false"
                )
            yield line, record
            line = reader.line_num + 1
    except csv.Error as error:
        raise UserError(
            f"{path}: line {line} is malformed ({error}); a field that contains a double quote must be in double "
            "quotes, and each double quote in it must be doubled, or set data.quotes=false"
        ) from None


def _read_json(path: Path, required: Sequence[str], others: bool) -> Iterator[Rows]:
    """Yield the rows of an array of JSON objects or, in a .jsonl file, of a line for each object."""
    if file_format(path) == ".jsonl":
        with open_text(path, newline="\n") as text:
            lines = ((number, line) for number, line in enumerate(text, start=1) if line.strip())
            records = ((number, _parse_json(line, path, JSONL_RULE, number)) for number, line in lines)
            yield from _object_rows(path, "line", JSONL_RULE, records, required, others)
        return
    array = _parse_json(read_text(path), path, JSON_RULE)
    if not isinstance(array, list):
        raise UserError(f"{path}: is not a JSON array; {JSON_RULE}")
    if array:
        yield from _object_rows(path, "record", JSON_RULE, enumerate(array, start=1), required, others)


def _parse_json(text: str, path: Path, rule: str, line: int | None = None) -> Any:
    """Parse a line of a file, or the whole file if `line` is None; `rule` states the expected content, for messages."""
    try:
        return json.loads(text, object_pairs_hook=_unique_names)
    except json.JSONDecodeError as error:
        raise UserError(
            f"{path}: line {line or error.lineno}, column {error.colno}: is not JSON ({error.msg}); {rule}"
        ) from None
    except (ValueError, RecursionError) as error:  # a name twice, a number of 5,000 digits, too many nested brackets
        place = str(path) if line is None else f"{path}: line {line}"
        raise UserError(f"{place}: cannot be read ({error})") from None


def _unique_names(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    record = dict(pairs)
    if len(record) < len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"an object has two values for {next(name for name in names if names.count(name) > 1)!r}")
    return record


def _object_rows(
    path: Path, unit: str, rule: str, records: Iterable[tuple[int, Any]], required: Sequence[str], others: bool
) -> Iterator[Rows]:
    """Yield the rows of JSON objects in chunks; raise a UserError if all objects lack a required column."""
    records = iter(records)
    names: dict[str, None] = {}
    while chunk := list(islice(records, CHUNK)):
        for place, record in chunk:
            if not isinstance(record, dict):
                raise UserError(f"{path}: {unit} {place}: is not a JSON object; {rule}")
        own = dict.fromkeys(name for _, record in chunk for name in record)
        names |= own
        values = {name: [record.get(name) for _, record in chunk] for name in own if others or name in required}
        yield Rows(str(path), unit, [place for place, _ in chunk], values)
    check_columns(str(path), required, list(names))


def _read_parquet(path: Path, required: Sequence[str], others: bool) -> Iterator[Rows]:
    import pyarrow.parquet as pq

    with _explain_errors(str(path)):
        file = pq.ParquetFile(path, page_checksum_verification=True)
    with file:
        names = file.schema_arrow.names
        check_columns(str(path), [*required, *(names if others else [])], names)
        columns = names if others else list(required)
        yield from arrow_rows(str(path), file.iter_batches(CHUNK, columns=columns), columns, file.schema_arrow)


def arrow_rows(source: str, batches: Iterable[Any], columns: Sequence[str], schema: pa.Schema) -> Iterator[Rows]:
    """Yield the rows of Arrow batches or tables, with the names of the classes that Hugging Face's metadata contain.

    Raises:
        UserError: if a batch is damaged; the message names the last row before it.
    """
    class_names = {name: names for name in columns if (names := _class_names(schema, name))}
    count, batches = 0, iter(batches)
    while True:
        with _explain_errors(f"{source}: after row {count:,}"):
            batch = next(batches, None)
        if batch is None:
            break
        cells = {name: batch.column(name) for name in columns}
        yield Rows(source, "row", range(count + 1, count + batch.num_rows + 1), cells, class_names)
        count += batch.num_rows


def _class_names(schema: pa.Schema, column: str) -> tuple[str, ...]:
    """Return the names of the classes that the integers of a column index; none if the metadata contain none."""
    with suppress(KeyError, TypeError, ValueError):
        feature = json.loads(schema.metadata[b"huggingface"])["info"]["features"][column]
        if feature["_type"] == "ClassLabel" and pa.types.is_integer(schema.field(column).type):
            return tuple(map(str, feature["names"]))
    return ()


@contextmanager
def _explain_errors(place: str) -> Iterator[None]:
    """Convert errors of pyarrow, which have many types, to a UserError that names `place`."""
    try:
        yield
    except (pa.ArrowException, OSError, ValueError, OverflowError) as error:
        reason = str(error).strip().partition("\n")[0]
        raise UserError(
            f"{place}: is not a Parquet file, or is damaged ({reason}); save or download it again"
        ) from None

"""Tables: read the rows of CSV, TSV, JSON and Parquet files or of Arrow data, and write rows to a file, in chunks."""

import codecs
import csv
import io
import json
import logging
import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple, TextIO
from unicodedata import normalize

import pyarrow as pa

from heedful.base.errors import UserError
from heedful.base.files import allow_long_fields, csv_line, replace_atomically
from heedful.base.formatting import format_list, format_repr
from heedful.config.mistakes import did_you_mean
from heedful.data.table import Table
from heedful.data.text_files import PARQUET, file_format, open_file, open_text, refuse_signatures
from heedful.runtime import PLAIN, Fault, NumberForm, spell_all, text_of

FORMATS = (".csv", ".tsv", ".jsonl", ".parquet", ".json")
OUTPUT_FORMATS = (".csv", ".jsonl")
# names of delimiters; those of a CSV file are detected, in this order of preference
DELIMITERS = {"comma": ",", "semicolon": ";", "tab": "\t", "pipe": "|", "\\t": "\t"}
DELIMITER = r'[^\w"\r\n]'  # characters that may be delimiters
CHUNK = 1000  # rows read at a time
HEAD = 1 << 20  # characters in which the delimiter is detected; a header should be shorter
log = logging.getLogger(__name__)
CSV_RULE = (
    "a field that contains the delimiter, a double quote or a line break must be in double quotes, and each double "
    "quote in it must be doubled; if double quotes are part of the texts, set data.quotes=false, or quotes=false for a "
    "prediction"
)
NOT_JSON = (
    "{}: is not a JSON object ({}); a .json file must be one array of objects, and each line of a .jsonl file one "
    "object"
)
INDICATORS = {"0": False, "false": False, "1": True, "true": True, None: False}  # whether a text has a label
MAX_PLACES = 5  # maximum number of rows that a message lists
MIXED = ["typed cell", "text cell"]  # parts of a column of a program's, one of which is missing in a row


class CsvForm(NamedTuple):
    """How a CSV file is written."""

    delimiter: str = ","
    mark: str = ""  # the byte order mark, without which Excel does not read UTF-8


DEFAULT_FORM = CsvForm()


@dataclass(frozen=True)
class Rows:
    """The columns of some consecutive rows of a file or data set."""

    source: str  # path of the file or name of the data set, for messages
    unit: str  # unit of `places`: "line" of a text file, "record" of a JSON array, or "row" of a table
    places: Sequence[int]  # n; the line at which each row starts, or the row's number, both counted from 1
    columns: Mapping[str, Any]  # n cells per column: a list, or an Arrow array
    class_names: Mapping[str, Sequence[str]] = field(default_factory=dict)  # of columns whose integers index classes

    def cells(self, column: str) -> list[Any]:
        """Return the cells of a column; each is None if the rows lack the column."""
        cells = self.columns.get(column, [None] * len(self.places))
        return cells if isinstance(cells, list) else _arrow_cells(cells)

    def texts(self, column: str) -> list[str]:
        """Return the cells of a column as texts: others are spelled, and a missing one becomes an empty string."""
        return [text or "" for text in self._spell(column, text_of)]

    def spelled(self, column: str, numbers: NumberForm = PLAIN) -> list[str | None]:
        """Return the one spelling of each cell of a column; None if it is missing."""
        return self._spell(column, numbers.spell)

    def _spell(self, column: str, rule: Callable[[Any], str | None]) -> list[str | None]:
        try:
            return spell_all(self.cells(column), rule)
        except Fault as fault:
            raise UserError(f"{self.where([fault.row])}: column {column!r} {fault}") from None

    def indicated(self, columns: Sequence[str]) -> list[list[int] | None]:
        """Return for each row the numbers of those columns that say 1 or true; None where one of them is empty."""
        spelled = list(zip(*map(self.spelled, columns), strict=True))
        for row, cells in enumerate(spelled):
            if wrong := [(name, cell) for name, cell in zip(columns, cells, strict=True) if cell not in INDICATORS]:
                held = "column {!r} holds {!r}".format(*wrong[0])
                remedy = "write 0 for -1" if wrong[0][1] == "-1" else "correct it, or name one column of labels"
                raise UserError(f"{self.where([row])}: {held}, but the columns of data.label hold 0 and 1: {remedy}")
        return [None if None in cells else [i for i, cell in enumerate(cells) if INDICATORS[cell]] for cells in spelled]

    def where(self, rows: Sequence[int]) -> str:
        return f"{self.source}: {format_places(self.unit, [self.places[row] for row in rows])}"

    def table(self, texts: Sequence[str], others: Sequence[str] = (), numbers: NumberForm = PLAIN) -> Table:
        """Return what a model reads of the rows: the text in one column, or the pairs in two, and further columns."""
        parts = list(map(self.texts, texts))
        pairs: Any = list(zip(*parts, strict=True))
        cells = {name: self.spelled(name, numbers) for name in others}
        return Table(pairs if len(parts) > 1 else parts[0], cells, self.where)

    def plain_texts(self, column: str) -> list[str | None]:
        """Return the cells of a column as a CSV file contains them; a missing value or NaN is None."""
        cells = (None if cell != cell else _plain(cell) for cell in self.cells(column))
        return [None if cell is None else str(cell).encode(errors="backslashreplace").decode() for cell in cells]


def place_unit(path: Path) -> str:
    """Return the unit of the places in a file: its lines, the records of its array, or the rows of its table."""
    return {".json": "record", ".parquet": "row"}.get(file_format(path), "line")


def format_places(unit: str, places: Sequence[int]) -> str:
    """Format the places of rows, such as 'lines 3, 9, 12 (3 in all)'; at most `MAX_PLACES` are listed."""
    first = ", ".join(map(str, places[:MAX_PLACES]))
    if len(places) == 1:
        return f"{unit} {first}"
    return f"{unit}s {first}{', …' if len(places) > MAX_PLACES else ''} ({len(places):,} in all)"


def check_columns(source: str, required: Sequence[str], columns: Sequence[str]) -> list[str]:
    """Return the columns of a file or data set, with the spelling of a required column where only their NFC is equal.

    Raise a UserError if a required column is missing or not unique.
    """
    columns = _respell(columns, _by_nfc(required))
    for name in required:
        if name not in columns:
            raise UserError(
                f"{source}: no column {name!r}{did_you_mean(name, columns)}; its columns are "
                f"{format_list(columns) or 'none'}. Specify your columns with data.text, data.label, data.group, "
                "data.weight, data.columns and data.keep_columns; those of file=… with text_column and label_column. "
                "The first line of a CSV or TSV file names its columns; those that a model reads beside the text keep "
                "their names"
            )
        if (count := columns.count(name)) > 1:
            raise UserError(f"{source}: {count} columns are called {name!r}; rename all but one of them")
    return columns


def _by_nfc(names: Iterable[str]) -> dict[str, str]:
    """Return names by their composed form, in which an accent is not a character of its own."""
    return {normalize("NFC", name): name for name in names}


def _respell(names: Iterable[str], spellings: Mapping[str, str]) -> list[str]:
    return [spellings.get(normalize("NFC", name), name) for name in names]


def parse_delimiter(value: str | None) -> str | None:
    """Convert a character or a name such as `semicolon` to a delimiter; raise a ValueError for another value."""
    delimiter = None if value is None else DELIMITERS.get(value, value)
    if delimiter is not None and not re.fullmatch(DELIMITER, delimiter):
        raise ValueError(f"delimiter={value!r}: must be comma, semicolon, tab, pipe, or another punctuation character")
    return delimiter


@dataclass(frozen=True)
class TableFile:
    """A file of rows: its extension determines the format, and text formats may be compressed as .gz.

    Args:
        required: names of the columns that must exist. A chunk of JSON objects may lack them.
        others: whether to read all other columns, too; those of JSON objects may differ between chunks.
        delimiter: delimiter of a CSV or TSV file; None detects it in a CSV file, and means a tab in a TSV file.
        quotes: whether double quotes in a CSV or TSV file enclose fields; otherwise they are part of the text.
        label: the required column of labels, if there is one; with it, rows that a double quote encloses are detected.
    """

    path: Path
    required: Sequence[str]
    others: bool = False
    delimiter: str | None = None
    quotes: bool = True
    label: str | None = None

    def read(self) -> Iterator[Rows]:
        """Yield the rows in chunks.

        A JSON array is read as a whole; for other formats, the use of memory does not depend on the size of the file.
        """
        kind, rows = file_format(self.path), None
        if kind not in FORMATS:
            raise UserError(
                f"{self.path}: unknown extension; it must be one of {', '.join(FORMATS)}; .gz may follow any but "
                ".parquet"
            )
        for rows in self._parquet() if kind == ".parquet" else self._text(kind):
            yield rows
        if rows is None:
            raise UserError(f"{self.path}: the file has no rows")

    def form(self) -> CsvForm:
        """Return the form of a CSV file, and the usual form for a file of another format."""
        if file_format(self.path) != ".csv":
            return DEFAULT_FORM
        with open_file(self.path, unpack=True) as file:
            mark = "\ufeff" if file.read(3) == codecs.BOM_UTF8 else ""
        with open_text(self.path) as text:
            return CsvForm(self._delimiter(text.read(HEAD), ".csv")[0], mark)

    def _delimiter(self, head: str, kind: str) -> tuple[str, bool]:
        """Return the delimiter of a file that begins with `head`, and whether a line before the header names it."""
        marker = re.match(rf'("?)sep=({DELIMITER})\1[\r\n]', head)  # the first line that Excel writes
        delimiter = self.delimiter or (marker and marker[2])
        delimiter = delimiter or ("\t" if kind == ".tsv" else detect_delimiter(head, self.required))
        return delimiter, marker is not None

    def _check(self, columns: Sequence[str]) -> list[str]:
        required = list(_by_nfc([*columns, *self.required]).values()) if self.others else self.required
        return check_columns(str(self.path), required, columns)

    def _text(self, kind: str) -> Iterator[Rows]:
        unit = place_unit(self.path)
        with open_text(self.path) as text:
            records = self._objects(text, unit) if "json" in kind else self._delimited(text, kind)
            yield from gather(str(self.path), unit, records, None if self.others else self.required)

    def _objects(self, text: TextIO, unit: str) -> Iterator[tuple[int, Mapping[str, Any]]]:
        """Yield the objects in the lines of a .jsonl file or in the array of a .json file, and their places."""
        where = str(self.path)
        names, spellings = dict[str, Any](), _by_nfc(self.required)
        values: Iterable[Any] = text
        if unit == "record":
            array = decode_json(text.read(), where)
            values = array if isinstance(array, list) else [array]
        for place, value in enumerate(values, start=1):
            if unit == "line" and not value.strip():
                continue
            where = f"{self.path}: {unit} {place}"
            record = json_object(decode_json(value, where) if unit == "line" else value, where)
            names |= record
            yield place, dict(zip(_respell(record, spellings), record.values(), strict=True))
        if names:
            self._check(list(names))

    def _delimited(self, text: TextIO, kind: str) -> Iterator[tuple[int, Mapping[str, str]]]:
        """Yield the records of a CSV or TSV file, and the lines at which they start."""
        allow_long_fields()
        delimiter, is_marked = self._delimiter(text.read(HEAD), kind)
        text.seek(0)
        quoting: Any = csv.QUOTE_MINIMAL if self.quotes else csv.QUOTE_NONE
        last = ""  # the line that was read last
        reader = csv.reader((last := read for read in text), delimiter=delimiter, strict=True, quoting=quoting)
        header: list[str] = []
        line_end = ""  # of the header
        labels, enclosed = set[str](), dict[int, set[str]]()  # in rows of one line; in the lines of each longer row
        empty = list[int]()  # the places of rows without a cell, such as Excel writes
        line = 1  # at which the record starts
        try:
            for record in reader:
                if not header:
                    if written := [] if is_marked and line == 1 else record:
                        header, line_end = self._check(written), last[-1:]
                elif len(header) > 1 and record and not any(map(str.strip, record)):
                    empty.append(line)
                elif record or len(header) == 1:  # a blank line is a row if there is one column
                    record = record or [""]
                    if last.endswith("\r") and line_end == "\n":
                        raise csv.Error("a carriage return without a line feed ends it, unlike the header: remove it")
                    if len(record) != len(header):
                        raise csv.Error(f"{len(record)} fields where the header has {len(header)}")
                    if record == written and len(header) > 1:
                        raise csv.Error("it repeats the header, as in joined files")
                    if delimiter == "\t" and any("\t" in field and "\n" in field for field in record):
                        raise csv.Error("a double quote encloses a tab and a line break")
                    if self.label is not None and reader.line_num == line:
                        labels.add(record[header.index(self.label)])
                    elif self.label is not None:  # its lines are perhaps rows, which a double quote encloses
                        rows = delimiter.join(record).split("\n")
                        if len(rows) > 1 and all(row.count(delimiter) == len(header) - 1 for row in rows):
                            column = header.index(self.label)
                            enclosed[line] = {row.removesuffix("\r").split(delimiter)[column] for row in rows}
                    yield line, dict(zip(header, record, strict=True))
                line = reader.line_num + 1
            if empty:
                _warn_once(f"{self.path}: {format_places('line', empty)}: empty, and therefore skipped")
            if suspects := [place for place, found in enclosed.items() if found <= labels]:
                place = f"{self.path}: line {suspects[0]}"
                _warn_once(f"{place}: a double quote may enclose several rows; {CSV_RULE}")
        except csv.Error as error:
            raise UserError(f"{self.path}: line {line} is malformed ({error}); {CSV_RULE}") from None

    def _parquet(self) -> Iterator[Rows]:
        import pyarrow.parquet as pq

        try:
            with pq.ParquetFile(self.path, page_checksum_verification=True) as file:
                names = file.schema_arrow.names
                columns = dict(zip(self._check(names), names, strict=True))
                if not self.others:
                    columns = {name: columns[name] for name in self.required}
                batches = file.iter_batches(CHUNK, columns=list(columns.values()))
                yield from arrow_rows(str(self.path), batches, columns, file.schema_arrow)
        except (pa.ArrowException, OSError, ValueError, OverflowError) as error:
            with open_file(self.path) as file:
                refuse_signatures(file, str(self.path), PARQUET)
            reason = str(error).strip().partition("\n")[0]
            raise UserError(
                f"{self.path}: is not a Parquet file, or is damaged ({reason}); save or download it again"
            ) from None


@cache
def _warn_once(message: str) -> None:
    """Log a warning about a file, which may be read several times."""
    log.warning("%s", message)


def absent_columns(names: Iterable[str], columns: Iterable[str]) -> list[str]:
    """Return those of the names that are none of the columns, in any spelling with the same NFC."""
    known = _by_nfc(columns)
    return [name for name in names if normalize("NFC", name) not in known]


def table_columns(path: Path, delimiter: str | None, quotes: bool, required: Sequence[str] = ()) -> list[str]:
    """Return the names of the columns in the first rows of a file, among which the required ones must be."""
    try:
        return list(next(TableFile(path, required, True, parse_delimiter(delimiter), quotes).read()).columns)
    except ValueError as error:
        raise UserError(str(error)) from None


def decode_json(text: str, where: str) -> Any:
    """Return the value of a JSON text; an error names its place."""
    try:
        return DECODER.decode(text)
    except (ValueError, RecursionError) as error:  # also a number of 5,000 digits, and too many nested brackets
        raise UserError(NOT_JSON.format(where, error)) from None


def json_object(value: Any, where: str) -> dict[str, Any]:
    """Return a decoded JSON value, which must be an object."""
    if isinstance(value, tuple):
        ((key, _),) = Counter(name for name, _ in value).most_common(1)
        raise UserError(f"{where}: the key {key!r} occurs more than once; rename or remove all but one")
    if not isinstance(value, dict):
        raise UserError(NOT_JSON.format(where, f"it is {format_repr(value)}"))
    return value


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any] | tuple[tuple[str, Any], ...]:
    """Return a JSON object as a dictionary, or as a tuple of pairs if a key occurs more than once."""
    record = dict(pairs)
    return record if len(record) == len(pairs) else tuple(pairs)


# JSON has neither NaN nor infinity; `json.loads` would create a decoder for each line
DECODER = json.JSONDecoder(object_pairs_hook=_object, parse_constant=lambda name: None)


def detect_delimiter(text: str, columns: Sequence[str]) -> str:
    """Return the delimiter with which the header at the start of `text` has all `columns`, or else the most columns."""

    def fit(delimiter: str) -> tuple[bool, int]:
        records = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
        header = next((record for record in records if record), [])
        return _by_nfc(columns).keys() <= _by_nfc(header).keys(), len(header)

    return max(dict.fromkeys(DELIMITERS.values()), key=fit)


def gather(
    source: str, unit: str, records: Iterable[tuple[int, Mapping[str, Any]]], only: Sequence[str] | None = None
) -> Iterator[Rows]:
    """Yield chunks of records, each of which is a place and the cells by column; a missing cell is None.

    Args:
        only: the columns of the chunks; None means all.
    """
    records = iter(records)
    while chunk := list(islice(records, CHUNK)):
        names = dict.fromkeys(name for _, record in chunk for name in record if only is None or name in only)
        columns = {name: [record.get(name) for _, record in chunk] for name in names}
        yield Rows(source, unit, [place for place, _ in chunk], columns)


def arrow_rows(source: str, batches: Iterable[Any], columns: Mapping[str, str], schema: pa.Schema) -> Iterator[Rows]:
    """Yield the rows of Arrow batches or tables, with the names of the classes that Hugging Face's metadata contain.

    Args:
        columns: for each column of the rows, its name in the batches.
    """
    class_names = {}
    for name, stored in columns.items():
        with suppress(KeyError, TypeError, ValueError, AttributeError, RecursionError):
            feature = json.loads(schema.metadata[b"huggingface"])["info"]["features"][stored]
            kind = schema.field(stored).type  # pandas turns integers into floats where values are missing
            if "feature" in feature:  # of the labels in a list
                feature, kind = feature["feature"], kind.value_type
            if feature["_type"] == "ClassLabel" and (pa.types.is_integer(kind) or pa.types.is_floating(kind)):
                class_names[name] = [str(known) if isinstance(known, str | int) else "" for known in feature["names"]]
    count = 0
    for batch in batches:
        cells = {name: batch.column(stored) for name, stored in columns.items()}
        yield Rows(source, "row", range(count + 1, count + batch.num_rows + 1), cells, class_names)
        count += batch.num_rows


def _arrow_cells(cells: Any) -> list[Any]:
    """Return the cells of an Arrow array as plain values, also within lists, structs and maps."""
    kind = cells.type
    if pa.types.is_struct(kind):
        import pyarrow.compute as pc

        fields = {field.name: _arrow_cells(pc.struct_field(cells, i)) for i, field in enumerate(kind)}
        if list(fields) == MIXED:
            return [text if typed is None else typed.encode() for typed, text in zip(*fields.values(), strict=True)]
        return [{name: fields[name][i] for name in fields} if cell.is_valid else None for i, cell in enumerate(cells)]
    if pa.types.is_nested(kind) and not pa.types.is_union(kind):
        lists = [_arrow_cells(cell.values) if cell.is_valid else None for cell in cells]
        if pa.types.is_map(kind):  # of keys and values
            return [pairs and [list(pair.values()) for pair in pairs] for pairs in lists]
        return lists
    if pa.types.is_temporal(kind) and not pa.types.is_duration(kind):  # Python's types cannot represent all times
        cells = cells.cast(pa.string())
    if kind in (pa.float16(), pa.float32()):  # as a float64, 0.1 would be 0.0999755859375
        number = kind.to_pandas_dtype()
        return [None if cell is None else float(str(number(cell))) for cell in cells.to_pylist()]
    return list(cells.to_pylist())


def write_table(path: Path, names: Sequence[str], chunks: Iterable[Rows], form: CsvForm = DEFAULT_FORM) -> None:
    """Write the columns `names` to a CSV or JSONL file, atomically; if rows lack a column, its values are None."""
    is_csv = path.suffix.lower() == ".csv"
    with (
        replace_atomically(path) as part,
        part.open("w", encoding="utf-8", errors="backslashreplace", newline="") as file,
    ):
        if is_csv:
            file.write(form.mark + csv_line(names, form.delimiter))
        for rows in chunks:
            for record in zip(*map(rows.cells, names), strict=True):
                if is_csv:
                    file.write(csv_line(map(_plain, record), form.delimiter))
                else:
                    file.write(_json(dict(zip(names, record, strict=True))) + "\n")


def _plain(cell: Any) -> Any:
    """Return a number, None, or the text for any other cell."""
    if isinstance(cell, bytes):
        return cell.decode(errors="backslashreplace")
    if isinstance(cell, dict | list | bool):
        return _json(cell)
    return cell if cell is None or isinstance(cell, int | float) else str(cell)


def _json(value: Any) -> str:
    """Format a value as JSON, which has neither NaN nor infinity: they become null."""
    return json.dumps(_finite(value), ensure_ascii=False, allow_nan=False, default=_plain)


def _finite(value: Any) -> Any:
    """Return a value in which None replaces each number that is not finite."""
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value

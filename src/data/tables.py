"""Write tables in chunks of rows, as CSV, JSONL or Parquet."""

import json
import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa

from src.data.readers import Rows
from src.errors import UserError
from src.files import csv_line, replace_atomically

ROW_GROUP = 8 << 20  # bytes of row data that are collected in memory for one row group of a Parquet file
UNFIT = (pa.ArrowException, OverflowError, ValueError, TypeError)  # raised for values that do not fit an Arrow type
Write = Callable[[Rows], None]


class Schema:
    """The columns of a table, with Parquet types that fit all values.

    A column has the type of the Parquet file that it comes from, or the common type of its values, such as float for
    integers and floats, or text if no type fits all.
    """

    def __init__(self, path: Path) -> None:
        self.types: dict[str, Any] = {}  # the Arrow type of each column; None if the file is not Parquet
        self._is_typed = path.suffix.lower() == ".parquet"

    def add(self, columns: Mapping[str, Any]) -> None:
        """Add columns, and widen the types of existing columns to fit these values."""
        for name, values in columns.items():
            self.types[name] = _common_type(self.types.get(name), values) if self._is_typed else None


@contextmanager
def write_table(path: Path, schema: Schema) -> Iterator[Write]:
    """Yield a function that appends rows to a temporary file, which replaces `path` at the end of the `with` block.

    If the rows lack a column of the schema, its values are None; columns outside the schema are not written. After an
    error, no part of the table remains.

    Raises:
        OSError: if the file cannot be written; its `filename` is set.
        UserError: if a value does not fit the Parquet type of its column.
    """
    with replace_atomically(path) as part, WRITERS[path.suffix.lower()](part, schema) as write:
        yield write


def _records(rows: Rows, schema: Schema) -> Iterator[tuple[Any, ...]]:
    columns = [rows.columns.get(name, [None] * len(rows.places)) for name in schema.types]
    return zip(*(column.to_pylist() if isinstance(column, pa.Array) else column for column in columns), strict=True)


@contextmanager
def _write_csv(path: Path, schema: Schema) -> Iterator[Write]:
    with path.open("w", encoding="utf-8", errors="backslashreplace", newline="") as file:
        file.write(csv_line(schema.types))
        yield lambda rows: file.writelines(csv_line(map(_cell, record)) for record in _records(rows, schema))


def _cell(value: Any) -> Any:
    if isinstance(value, dict | list | bool):
        return json.dumps(value, ensure_ascii=False, default=str)
    return value.decode(errors="backslashreplace") if isinstance(value, bytes) else value


@contextmanager
def _write_jsonl(path: Path, schema: Schema) -> Iterator[Write]:
    with path.open("w", encoding="utf-8", errors="backslashreplace") as file:

        def write(rows: Rows) -> None:
            for record in _records(rows, schema):
                plain = {name: _plain(value) for name, value in zip(schema.types, record, strict=True)}
                file.write(json.dumps(plain, ensure_ascii=False, default=str) + "\n")

        yield write


def _plain(value: Any) -> Any:
    """Convert a value for JSON: NaN and infinity to None, bytes and the keys of dictionaries to text."""
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    return value.decode(errors="backslashreplace") if isinstance(value, bytes) else value


@contextmanager
def _write_parquet(path: Path, schema: Schema) -> Iterator[Write]:
    import pyarrow.parquet as pq

    arrow_schema = pa.schema(list(schema.types.items()))
    tables: list[Any] = []

    with pq.ParquetWriter(path, arrow_schema) as writer:

        def flush() -> None:
            if tables:
                writer.write_table(pa.concat_tables(tables).combine_chunks())
                tables.clear()

        def write(rows: Rows) -> None:
            tables.append(pa.table([_array(rows, field) for field in arrow_schema], schema=arrow_schema))
            if sum(table.nbytes for table in tables) >= ROW_GROUP:
                flush()

        yield write
        flush()


def _common_type(previous: Any, values: Any) -> Any:
    """Return the Arrow type that fits these values and all values of the type `previous`; text if no type fits."""
    try:
        own = pa.array(values).type
        if previous is None or previous == own:
            return own
        schemas = [pa.schema([("", each)]) for each in (previous, own)]
        return pa.unify_schemas(schemas, promote_options="permissive").field(0).type
    except UNFIT:  # values of several types, or huge numbers
        return pa.string()


def _array(rows: Rows, field: pa.Field) -> pa.Array:
    """Return the values of a column as an Arrow array."""
    values = rows.columns.get(field.name, [None] * len(rows.places))
    try:
        return pa.array(values, field.type)
    except UNFIT:
        if field.type != pa.string():
            first, last = rows.places[0], rows.places[-1]
            raise UserError(
                f"{rows.source}: {rows.unit}s {first} to {last}: a value of the column {field.name!r} does not fit its "
                f"Parquet type {field.type}; write a .csv or .jsonl file"
            ) from None
    texts = [None if value is None else str(_cell(value)) for value in values]
    return pa.array([text and text.encode(errors="backslashreplace").decode() for text in texts], field.type)


WRITERS: dict[str, Callable[[Path, Schema], AbstractContextManager[Write]]] = {
    ".csv": _write_csv,
    ".jsonl": _write_jsonl,
    ".parquet": _write_parquet,
}

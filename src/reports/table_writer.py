"""Write tables in chunks of rows, as CSV, JSONL or Parquet."""

import csv
import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

from src.data.rows import Rows
from src.errors import UserError
from src.files import replace_atomically
from src.formatting import format_repr

ROW_GROUP = 8 << 20  # bytes of row data that are collected in memory for one row group of a Parquet file
Write = Callable[[Rows], None]


class Schema:
    """The columns of a table, with Parquet types that fit all values.

    A column has the common type of its values, such as float for integers and floats, or text if no type fits all.
    """

    def __init__(self, path: Path) -> None:
        self.types: dict[str, Any] = {}  # the Arrow type of each column; None if the file is not Parquet
        self._is_typed = path.suffix.lower() == ".parquet"

    def add(self, columns: Mapping[str, Sequence[Any]]) -> None:
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
    try:
        with replace_atomically(path) as part, WRITERS[path.suffix.lower()](part, schema) as write:
            yield write
    except OSError as error:  # the error for a full disk has no file name
        error.filename = error.filename or str(path)
        raise


def _records(rows: Rows, schema: Schema) -> Iterator[tuple[Any, ...]]:
    return zip(*_columns(rows, schema), strict=True)


def _columns(rows: Rows, schema: Schema) -> list[Sequence[Any]]:
    return [rows.columns.get(name, [None] * len(rows.places)) for name in schema.types]


@contextmanager
def _write_csv(path: Path, schema: Schema) -> Iterator[Write]:
    with path.open("w", encoding="utf-8", errors="backslashreplace", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(schema.types)
        yield lambda rows: writer.writerows(map(_cell, record) for record in _records(rows, schema))


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
    import pyarrow as pa
    import pyarrow.parquet as pq

    arrow_schema = pa.schema(list(schema.types.items()))
    tables: list[Any] = []

    with pq.ParquetWriter(path, arrow_schema) as writer:

        def flush() -> None:
            if tables:
                writer.write_table(pa.concat_tables(tables).combine_chunks())
                tables.clear()

        def write(rows: Rows) -> None:
            columns = zip(arrow_schema, _columns(rows, schema), strict=True)
            arrays = [_array(rows, field.name, values, field.type) for field, values in columns]
            tables.append(pa.table(arrays, schema=arrow_schema))
            if sum(table.nbytes for table in tables) >= ROW_GROUP:
                flush()

        yield write
        flush()


def _common_type(previous: Any, values: Sequence[Any]) -> Any:
    """Return the Arrow type that fits these values and all values of the type `previous`; text if no type fits."""
    import pyarrow as pa

    try:
        own = pa.array(values).type
        if previous is None or previous == own:
            return own
        schemas = [pa.schema([("", each)]) for each in (previous, own)]
        return pa.unify_schemas(schemas, promote_options="permissive").field(0).type
    except (pa.ArrowException, OverflowError, ValueError, TypeError):  # values of several types, or huge numbers
        return pa.string()


def _array(rows: Rows, name: str, values: Sequence[Any], arrow_type: Any) -> Any:
    import pyarrow as pa

    unfit = (pa.ArrowException, OverflowError, ValueError, TypeError)
    try:
        return pa.array(values, arrow_type)
    except unfit:
        if arrow_type == pa.string():
            texts = [None if value is None else str(_cell(value)) for value in values]
            return pa.array([text and text.encode(errors="backslashreplace").decode() for text in texts], arrow_type)
    for i, value in enumerate(values):
        try:
            pa.array([value], arrow_type)
        except unfit:
            raise UserError(
                f"{rows.source}: {rows.describe_places([i])}: column {name!r} has the value {format_repr(value)}, "
                f"which does not fit the Parquet type {arrow_type} of the column; write a .csv or .jsonl file"
            ) from None
    raise AssertionError(f"each value of {name!r} alone fits {arrow_type}, but the column does not")


WRITERS: dict[str, Callable[[Path, Schema], AbstractContextManager[Write]]] = {
    ".csv": _write_csv,
    ".jsonl": _write_jsonl,
    ".parquet": _write_parquet,
}

"""Read Parquet files, one batch of rows at a time; the message about a damaged batch names the last row before it."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from src.data.rows import Rows, check_columns
from src.errors import UserError

BATCH = 1000  # rows decoded at a time


def read_parquet(path: Path, columns: Sequence[str] | None) -> Iterator[Rows]:
    """Yield the rows of a Parquet file in batches, with these columns, or with all columns if `columns` is None.

    Raises:
        UserError: if the file or a value is damaged.
        ColumnError: if a column is missing or not unique.
    """
    import pyarrow.parquet as pq

    count = 0
    with _explain_errors(str(path)):
        file = pq.ParquetFile(path, page_checksum_verification=True)
    with file:
        names = file.schema_arrow.names
        columns = names if columns is None else columns
        check_columns(str(path), columns, names)
        batches = file.iter_batches(BATCH, columns=list(columns))
        while True:
            with _explain_errors(f"{path}: after row {count:,}"):
                batch = next(batches, None)
            if batch is None:
                break
            places = range(count + 1, count + batch.num_rows + 1)
            cells = {name: _cells(batch.column(name), f"{path}: column {name!r}", count) for name in columns}
            yield Rows(str(path), "row", places, cells)
            count += batch.num_rows


def _cells(column: Any, source: str, preceding: int) -> list[Any]:
    """Return the values of a column in a batch; `preceding` is the number of rows of the file before the batch."""
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
def _explain_errors(place: str) -> Iterator[None]:
    """Convert errors of pyarrow, which have many types, to a UserError that names `place`."""
    import pyarrow as pa

    try:
        yield
    except (pa.ArrowException, OSError, ValueError, OverflowError) as error:
        reason = str(error).strip().partition("\n")[0]
        raise UserError(
            f"{place}: is not a Parquet file, or is damaged ({reason}); save or download it again"
        ) from None

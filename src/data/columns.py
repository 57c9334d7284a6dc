"""The columns of a data file, from its beginning alone."""

import csv
import io
from collections.abc import Sequence
from pathlib import Path

from src.data.readers import check_columns

BEGINNING = 1 << 20  # bytes: a header is shorter
DELIMITERS = {".csv": ",", ".tsv": "\t"}


def require_columns(path: Path, wanted: Sequence[str]) -> None:
    """Refuse a file without these columns, before any of its texts is read.

    A file whose columns cannot be seen so quickly, such as JSONL or a damaged one, is left to its reader.

    Raises:
        UserError: if a column is missing; lists those that are there.
    """
    try:
        names = columns(path)
    except (OSError, ValueError, csv.Error):
        return
    if names:
        check_columns(str(path), wanted, names)


def columns(path: Path) -> list[str]:
    """The names in the header of a CSV, TSV or Parquet file; none where they cannot be seen."""
    suffix = path.suffix.lower()
    if not path.is_file():  # a pipe can be read only once
        return []
    if suffix == ".parquet":
        import pyarrow as pa
        import pyarrow.parquet as pq

        try:
            return pq.read_schema(path).names
        except pa.ArrowException:
            return []
    if suffix not in DELIMITERS:
        return []
    with path.open("rb") as file:
        beginning = file.read(BEGINNING)
    is_whole = len(beginning) < BEGINNING
    text = beginning.decode("utf-8-sig", errors="strict" if is_whole else "ignore")
    lines = csv.reader(io.StringIO(text, newline=""), delimiter=DELIMITERS[suffix], strict=True)
    header = next((line for line in lines if line), [])
    return header if is_whole or next(lines, None) is not None else []

"""The columns of a data file, read from its header alone."""

import csv
import io
from collections.abc import Sequence
from pathlib import Path

from src.data.rows import check_columns

HEAD_SIZE = 1 << 20  # bytes; a header is shorter
DELIMITERS = {".csv": ",", ".tsv": "\t"}


def require_columns(path: Path, required: Sequence[str]) -> None:
    """Check that a file has the required columns, without reading its texts.

    Files without a readable header, such as JSONL or damaged files, pass: their reader checks them.

    Raises:
        UserError: if a column is missing; the message lists the columns of the file.
    """
    try:
        names = columns(path)
    except (OSError, ValueError, csv.Error):
        return
    if names:
        check_columns(str(path), required, names)


def columns(path: Path) -> list[str]:
    """The names in the header of a CSV, TSV or Parquet file; empty if there is no readable header."""
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
        head = file.read(HEAD_SIZE)
    is_whole = len(head) < HEAD_SIZE
    text = head.decode("utf-8-sig", errors="strict" if is_whole else "ignore")
    lines = csv.reader(io.StringIO(text, newline=""), delimiter=DELIMITERS[suffix], strict=True)
    header = next((line for line in lines if line), [])
    return header if is_whole or next(lines, None) is not None else []

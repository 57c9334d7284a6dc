"""The columns of a data file, read from its header alone."""

import csv
import gzip
import io
import zlib
from collections.abc import Sequence
from pathlib import Path

from src.data.delimiter import HEAD_SIZE, detect_delimiter
from src.data.files import GZIP, file_format
from src.data.rows import check_columns


def require_columns(path: Path, required: Sequence[str], delimiter: str | None = None) -> None:
    """Check that a file has the required columns, without reading its texts.

    Files without a readable header, such as JSONL or damaged files, pass: their reader checks them.

    Args:
        path: path of the file.
        required: names of required columns.
        delimiter: delimiter of a CSV or TSV file; None detects it in a CSV file, and means a tab in a TSV file.

    Raises:
        UserError: if a column is missing; the message lists the columns of the file.
    """
    try:
        names = columns(path, required, delimiter)
    except (OSError, ValueError, EOFError, csv.Error, zlib.error):
        return
    if names:
        check_columns(str(path), required, names)


def columns(path: Path, required: Sequence[str], delimiter: str | None) -> list[str]:
    """Return the names in the header of a CSV, TSV or Parquet file; an empty list if there is no readable header."""
    suffix = file_format(path)
    if not path.is_file():  # a pipe can be read only once
        return []
    is_packed = path.suffix.lower() == GZIP
    if suffix == ".parquet" and not is_packed:
        import pyarrow as pa
        import pyarrow.parquet as pq

        try:
            return pq.read_schema(path).names
        except pa.ArrowException:
            return []
    if suffix not in (".csv", ".tsv"):
        return []
    with path.open("rb") as raw:
        head = (gzip.GzipFile(fileobj=raw) if is_packed else raw).read(HEAD_SIZE)
    is_whole = len(head) < HEAD_SIZE
    text = head.decode("utf-8-sig", errors="strict" if is_whole else "ignore")
    delimiter = delimiter or ("\t" if suffix == ".tsv" else detect_delimiter(text, required))
    lines = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    header = next((line for line in lines if line), [])
    return header if is_whole or next(lines, None) is not None else []

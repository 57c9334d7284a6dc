"""The columns of a data file, read from its header alone."""

import csv
import io
from collections.abc import Sequence
from pathlib import Path

from src.data.delimiter import HEAD_SIZE, detect_delimiter
from src.data.files import GZIP, file_format, open_text
from src.data.rows import check_columns
from src.errors import UserError


def require_columns(path: Path, required: Sequence[str], delimiter: str | None = None) -> None:
    """Check that a file has the required columns, without reading its texts.

    A file without a readable header, such as a JSONL file or a damaged file, passes: its reader validates it later.

    Args:
        delimiter: delimiter of a CSV or TSV file; None detects it in a CSV file, and means a tab in a TSV file.

    Raises:
        UserError: if a column is missing; the message lists the columns of the file.
    """
    try:
        names = columns(path, required, delimiter)
    except (OSError, ValueError, UserError, csv.Error):
        return
    if names:
        check_columns(str(path), required, names)


def require_two_columns(text: str, label: str) -> None:
    """Check that texts and labels come from different columns.

    Raises:
        ValueError: if they come from the same column, from which a model would learn to copy the label.
    """
    if text == label:
        raise ValueError(f"text={text!r}: is also the column of labels: set data.text or data.label to another column")


def columns(path: Path, required: Sequence[str], delimiter: str | None) -> list[str]:
    """Return the names in the header of a CSV, TSV or Parquet file; an empty list for other formats.

    Raises:
        OSError, ValueError, UserError, csv.Error: if the header is not readable.
    """
    suffix = file_format(path)
    if not path.is_file():  # a pipe can be read only once
        return []
    if suffix == ".parquet" and path.suffix.lower() != GZIP:
        import pyarrow as pa
        import pyarrow.parquet as pq

        try:
            return pq.read_schema(path).names
        except pa.ArrowException:
            return []
    if suffix not in (".csv", ".tsv"):
        return []
    with open_text(path) as text:
        head = text.read(HEAD_SIZE)
    lines = csv.reader(
        io.StringIO(head, newline=""), delimiter=delimiter or detect_delimiter(head, required, suffix), strict=True
    )
    header = next((line for line in lines if line), [])
    is_complete = len(head) < HEAD_SIZE or next(lines, None) is not None
    return header if is_complete else []

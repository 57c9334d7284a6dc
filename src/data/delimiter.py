"""The delimiter of a CSV or TSV file: set by the user, or detected from the header."""

import csv
import io
from collections.abc import Sequence

NAMES = {"comma": ",", "semicolon": ";", "tab": "\t", "pipe": "|", "\\t": "\t"}
CANDIDATES = (",", ";", "\t", "|")  # the first is chosen if several are possible
HEAD_SIZE = 1 << 20  # characters; a header is shorter


def parse_delimiter(value: str | None) -> str | None:
    """Return the delimiter for an option value, a character or a name such as `semicolon`; for None, return None.

    Raises:
        ValueError: if the value is neither the name of a delimiter nor a character that can separate fields.
    """
    if value is None:
        return None
    delimiter = NAMES.get(value, value)
    if len(delimiter) != 1 or delimiter.isalnum() or delimiter in '"\r\n\0':
        raise ValueError(
            f"delimiter={value!r}: must be comma, semicolon, tab, pipe, or another character except letters, "
            "digits, double quotes and line breaks"
        )
    return delimiter


def detect_delimiter(text: str, columns: Sequence[str] | None) -> str:
    """Return the delimiter of a CSV file, detected from its header.

    Args:
        text: the text of the file, or its beginning.
        columns: the required columns, or None. The result is the delimiter with which the header has all required
            columns; without such a delimiter, or for None, the delimiter with the most columns.
    """
    headers = {delimiter: _header(text[:HEAD_SIZE], delimiter) for delimiter in CANDIDATES}
    for delimiter, header in headers.items():
        if columns and set(columns) <= set(header):
            return delimiter
    return max(headers, key=lambda delimiter: len(headers[delimiter]))


def _header(text: str, delimiter: str) -> list[str]:
    """Return the first record that is not blank; an empty list if the text is malformed with this delimiter."""
    records = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    try:
        return next((record for record in records if record), [])
    except csv.Error:
        return []

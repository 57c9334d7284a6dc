"""The delimiter of a CSV or TSV file: set by the user, or detected from the header."""

import csv
import io
from collections.abc import Sequence

NAMES = {"comma": ",", "semicolon": ";", "tab": "\t", "pipe": "|", "\\t": "\t"}
CANDIDATES = (",", ";", "\t", "|")  # the first is chosen if several are possible
HEAD_SIZE = 1 << 20  # characters; a header is shorter


def parse_delimiter(value: str | None) -> str | None:
    """The character of an option such as `;` or `semicolon`; None stays None.

    Raises:
        ValueError: if it is neither such a name nor a character that can separate fields.
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
    """The delimiter of a CSV file, from its header.

    Args:
        text: the file, or its beginning.
        columns: required columns; the delimiter with which the header has all of them is chosen. If there is none, or
            for None, the delimiter with the most columns is chosen.
    """
    headers = {delimiter: _header(text[:HEAD_SIZE], delimiter) for delimiter in CANDIDATES}
    for delimiter, header in headers.items():
        if columns and set(columns) <= set(header):
            return delimiter
    return max(headers, key=lambda delimiter: len(headers[delimiter]))


def _header(text: str, delimiter: str) -> list[str]:
    """The first record that is not blank; empty if it is malformed with this delimiter."""
    records = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    try:
        return next((record for record in records if record), [])
    except csv.Error:
        return []

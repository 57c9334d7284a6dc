"""The delimiter of a CSV file: parsed from an option, or detected in the header of the file."""

import csv
import io
from collections.abc import Sequence

DELIMITER_NAMES = {"comma": ",", "semicolon": ";", "tab": "\t", "pipe": "|", "\\t": "\t"}
CANDIDATES = (",", ";", "\t", "|")  # in order of preference


def parse_delimiter(value: str | None) -> str | None:
    """Convert an option value, a character or a name such as `semicolon`, to a delimiter; None stays None.

    Raises:
        ValueError: if the value is neither the name of a delimiter nor a character that can separate fields.
    """
    if value is None:
        return None
    delimiter = DELIMITER_NAMES.get(value, value)
    if len(delimiter) != 1 or delimiter.isalnum() or delimiter in '"\r\n\0':
        raise ValueError(
            f"delimiter={value!r}: must be comma, semicolon, tab, pipe, or another character except letters, "
            "digits, double quotes and line breaks"
        )
    return delimiter


def detect_delimiter(text: str, columns: Sequence[str] | None) -> str:
    """Return the delimiter of the header of a CSV file.

    This is the delimiter with which the header has all required `columns`. If there is no such delimiter, or if
    `columns` is None, it is the delimiter that gives the most columns.

    Args:
        text: the beginning of the file, with the whole header.
    """
    headers = {delimiter: _header(text, delimiter) for delimiter in CANDIDATES}
    for delimiter, header in headers.items():
        if columns and set(columns) <= set(header):
            return delimiter
    return max(headers, key=lambda delimiter: len(headers[delimiter]))


def _header(text: str, delimiter: str) -> list[str]:
    """Return the first record that is not blank; an empty list if there is none, or if the text is malformed."""
    records = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    try:
        return next((record for record in records if record), [])
    except csv.Error:
        return []

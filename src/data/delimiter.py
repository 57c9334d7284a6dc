"""The delimiter of a CSV or TSV file: set by the user, a tab in a TSV file, or detected in the header of a CSV file."""

import csv
import io
from collections.abc import Sequence

DELIMITER_NAMES = {"comma": ",", "semicolon": ";", "tab": "\t", "pipe": "|", "\\t": "\t"}
CANDIDATES = (",", ";", "\t", "|")  # in order of preference
HEAD_SIZE = 1 << 20  # characters; a header must be shorter


def parse_delimiter(value: str | None) -> str | None:
    """Return the delimiter that an option value means, a character or a name such as `semicolon`; None for None.

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


def detect_delimiter(text: str, columns: Sequence[str] | None, suffix: str = ".csv") -> str:
    """Return the delimiter of a CSV file, detected in its header, or the tab of a TSV file.

    Args:
        text: the text of the file, or its beginning.
        columns: the required columns, or None. The result is a delimiter with which the header has all required
            columns; without such a delimiter, or for None, the delimiter that gives the most columns.
        suffix: .csv or .tsv.
    """
    if suffix == ".tsv":
        return "\t"
    headers = {delimiter: _header(text[:HEAD_SIZE], delimiter) for delimiter in CANDIDATES}
    for delimiter, header in headers.items():
        if columns and set(columns) <= set(header):
            return delimiter
    return max(headers, key=lambda delimiter: len(headers[delimiter]))


def _header(text: str, delimiter: str) -> list[str]:
    """Return the first record that is not blank; an empty list if there is none or if it is malformed."""
    records = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    try:
        return next((record for record in records if record), [])
    except csv.Error:
        return []

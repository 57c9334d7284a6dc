"""The rows of a data file or data set, before texts and labels are validated."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from src.errors import UserError
from src.formatting import format_list
from src.misspellings import suggestion

MAX_PLACES = 5  # maximum number of rows that a message lists


class ColumnError(UserError):
    """A required column is missing or not unique."""


@dataclass(frozen=True)
class Rows:
    """The columns of all rows of a file, or of some consecutive rows."""

    source: str  # path of the file or name of the data set, for messages
    unit: str  # unit of `places`: "line" of a text file, "record" of a JSON array, or "row" of a table
    places: Sequence[int]  # n; the line at which each row starts, or the row's number, both counted from 1
    columns: dict[str, list[Any]]  # n values per column

    def describe_places(self, indices: Sequence[int]) -> str:
        """Format the places of the rows with these indices."""
        return format_places(self.unit, [self.places[i] for i in indices])


def join_rows(chunks: Iterable[Rows]) -> Rows:
    """Join one or more chunks; if a chunk lacks a column, the column is None in the rows of this chunk."""
    chunks = list(chunks)
    names = dict.fromkeys(name for rows in chunks for name in rows.columns)
    values = {
        name: [value for rows in chunks for value in rows.columns.get(name, [None] * len(rows.places))]
        for name in names
    }
    return Rows(chunks[0].source, chunks[0].unit, [place for rows in chunks for place in rows.places], values)


def format_places(unit: str, places: Sequence[int]) -> str:
    """Format the places of rows, such as 'lines 3, 9, 12 (3 in all)'; at most `MAX_PLACES` are listed."""
    first = ", ".join(map(str, places[:MAX_PLACES]))
    if len(places) == 1:
        return f"{unit} {first}"
    return f"{unit}s {first}{', …' if len(places) > MAX_PLACES else ''} ({len(places):,} in all)"


def check_columns(
    source: str, required: Sequence[str], columns: Sequence[str], options: str = "data.text and data.label of data=csv"
) -> None:
    """Check the columns of a file or data set.

    Args:
        options: the options that set the names of the columns, for the message.

    Raises:
        ColumnError: if a required column is missing or not unique.
    """
    for name in required:
        if name not in columns:
            raise ColumnError(
                f"{source}: no column {name!r}{suggestion(name, columns)}; its columns are "
                f"{format_list(columns) or 'none'}. Specify your columns with {options}"
            )
        if (count := columns.count(name)) > 1:
            raise ColumnError(f"{source}: {count} columns are called {name!r}; rename all but one of them")

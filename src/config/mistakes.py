"""Mistakes in a configuration, and one message for all of them."""

from collections.abc import Iterable
from typing import NamedTuple

from src.formatting import format_count

MAX_ENTRY_WIDTH = 48  # characters; a longer entry gets a line of its own


class Mistake(NamedTuple):
    """An entry of a configuration, such as `optimizer.lr=fast`, and the error in it."""

    entry: str
    message: str

    @property
    def path(self) -> str:
        """The dotted path of the option."""
        return self.entry.partition("=")[0]


def format_mistakes(mistakes: Iterable[Mistake]) -> str:
    """Return one message that lists all distinct mistakes."""
    unique = list(dict.fromkeys(mistakes))
    width = max((len(entry) for entry, _ in unique if len(entry) <= MAX_ENTRY_WIDTH), default=0)
    lines = [f"{format_count(len(unique), 'mistake')} in the configuration; nothing was started."]
    for entry, message in unique:
        column = f"{entry:<{width}}" if len(entry) <= width else f"{entry}\n  {'':<{width}}"
        lines.append(f"  {column}   {message}")
    return "\n".join(lines)

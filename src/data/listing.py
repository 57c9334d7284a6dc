"""Values of data in messages: a few of many, each cut to a readable length."""

from collections.abc import Collection
from typing import Any

LISTED = 5  # values listed before the rest is counted
LONGEST = 40  # characters of a value


def shown(value: Any) -> str:
    """A value as Python writes it, on one line and cut to a readable length."""
    if isinstance(value, str | bytes):
        value = value[: LONGEST + 1]  # a text may be long
    text = repr(value)
    return text if len(text) <= LONGEST + 2 else f"{text[:LONGEST]}…{text[-1]}"


def listed(values: Collection[Any], plain: bool = False) -> str:
    """'a', 'b', 'c', 'd', 'e' and 1,234 more.

    Args:
        values: in the order in which they are listed.
        plain: without quotes around strings.
    """
    first = [shown(value) for value, _ in zip(values, range(LISTED), strict=False)]
    if plain:
        first = [text[1:-1] if text[0] in "'\"" else text for text in first]
    rest = len(values) - len(first)
    return ", ".join(first) + (f" and {rest:,} more" if rest > 0 else "")

"""Formatting of data values in messages, with a limit on their number and length."""

from collections.abc import Collection
from typing import Any

LISTED = 5  # values listed; the others are counted
LONGEST = 40  # characters of a value


def shown(value: Any) -> str:
    """The repr of a value, truncated to a readable length."""
    if isinstance(value, str | bytes):
        value = value[: LONGEST + 1]  # a text may be long
    text = repr(value)
    return text if len(text) <= LONGEST + 2 else f"{text[:LONGEST]}…{text[-1]}"


def listed(values: Collection[Any], plain: bool = False) -> str:
    """Format the first values and count the rest: 'a', 'b', 'c', 'd', 'e' and 1,234 more.

    Args:
        values: to list, in this order.
        plain: omit the quotes around strings.
    """
    first = [shown(value) for value, _ in zip(values, range(LISTED), strict=False)]
    if plain:
        first = [text[1:-1] if text[0] in "'\"" else text for text in first]
    rest = len(values) - len(first)
    return ", ".join(first) + (f" and {rest:,} more" if rest > 0 else "")

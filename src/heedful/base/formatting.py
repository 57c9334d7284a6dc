"""Format values, lists, durations and times; long values and lists are shortened."""

from collections.abc import Collection, Iterable
from datetime import UTC, datetime
from itertools import islice
from typing import Any

SPLIT_NAMES = {"train": "training", "val": "validation", "test": "test"}
UNITS = ((86400, "d"), (3600, "h"), (60, "min"))
LISTED_NAMES = 12  # number of names in a list before an ellipsis
LISTED_VALUES = 5  # number of values in a list before the count of the remaining values
LONGEST_OPTION = 60  # maximum number of characters of an option's value
LONGEST_VALUE = 40  # approximate maximum number of characters of a value from a data file


def capitalize(text: str) -> str:
    """Return the text with a capital first letter, the others as they are."""
    return text[:1].upper() + text[1:]


def format_count(number: int, noun: str) -> str:
    """Format a count with its noun: "1 job", "3,000 jobs", "2 classes"."""
    ending = "" if number == 1 else "es" if noun.endswith("s") else "s"
    return f"{number:,} {noun}{ending}"


def format_names(names: Iterable[str]) -> str:
    first = list(islice(names, LISTED_NAMES + 1))
    return ", ".join(first[:LISTED_NAMES]) + (", …" if len(first) > LISTED_NAMES else "")


def format_value(value: Any) -> str:
    """Format a value approximately as on the command line, truncated to LONGEST_OPTION characters."""
    if isinstance(value, bool) or value is None:
        text = {True: "true", False: "false", None: "null"}[value]
    elif isinstance(value, dict):
        text = "{" + ", ".join(f"{key}: {format_value(item)}" for key, item in value.items()) + "}"
    elif isinstance(value, list):
        text = "[" + ", ".join(map(format_value, value)) + "]"
    else:
        text = str(value)
    return text if len(text) <= LONGEST_OPTION else text[: LONGEST_OPTION - 1] + "…"


def format_repr(value: Any) -> str:
    """Return the repr of a value, truncated to about LONGEST_VALUE characters."""
    if isinstance(value, str | bytes):
        value = value[: LONGEST_VALUE + 1]  # so that the repr of a long text is not computed
    text = repr(value)
    return text if len(text) <= LONGEST_VALUE + 2 else f"{text[:LONGEST_VALUE]}…{text[-1]}"


def format_list(values: Collection[Any], plain: bool = False) -> str:
    """Format the first values, and count the others: 'a', 'b' and 1,234 more; `plain` omits the quotes."""
    first = [format_repr(value) for value in islice(values, LISTED_VALUES)]
    if plain:
        first = [text[1:-1] if text[0] in "'\"" else text for text in first]
    rest = len(values) - len(first)
    return ", ".join(first) + (f" and {rest:,} more" if rest > 0 else "")


def format_duration(seconds: float) -> str:
    """Format a duration in one or two units, such as "1 h 20 min"."""
    for i, (size, unit) in enumerate(UNITS):
        if seconds >= size:
            smaller, name = UNITS[i + 1] if i + 1 < len(UNITS) else (1, "s")
            rest = int(seconds % size // smaller)
            return f"{int(seconds // size)} {unit}" + (f" {rest} {name}" if rest else "")
    return f"{seconds:.1f} s" if seconds < 10 else f"{seconds:.0f} s"


def format_now() -> str:
    """Format the current time in ISO format, UTC."""
    return datetime.now(UTC).isoformat()

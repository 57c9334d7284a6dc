"""Numbers and times as the pages write them."""

import math
from datetime import datetime

from src.reports.tables import UNKNOWN

MINUS = "\N{MINUS SIGN}"


def share(value: float | None) -> str:
    """A score in three decimals."""
    return UNKNOWN if value is None else f"{value:.3f}".replace("-", MINUS)


def change(value: float | None) -> str:
    """A difference, with its sign."""
    return UNKNOWN if value is None else f"{value:+.3f}".replace("-", MINUS)


def between(low: float | None, high: float | None, signed: bool = False) -> str:
    """An interval; a dash where there is none."""
    say = change if signed else share
    return UNKNOWN if low is None or high is None else f"{say(low)} to {say(high)}"


def brief(value: float) -> str:
    """Three digits: 0.021, 4.5, 320, 12.3k, 1.9M."""
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= size * 0.9995:
            return f"{value / size:.3g}{letter}"
    return f"{value:.3g}" if math.isfinite(value) else UNKNOWN


def count(number: int, one: str) -> str:
    """Such as "1 run" and "3 runs"."""
    return f"{number:,} {one if number == 1 else f'{one}s'}"


def moment(iso: str) -> str:
    """A time as people write it, to the minute; as it stands where it is none."""
    try:
        return datetime.fromisoformat(iso).strftime("%Y-%m-%d %H:%M %Z").strip()
    except ValueError:
        return iso

"""Scales for charts, and tables with charts.

Coordinates are percentages of the chart's width or height, so that a chart adapts to the width of the screen while its
text keeps its size.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from src.reports.page.formatting import MINUS, format_compact

TICK_DIGITS = (1, 2, 5)  # leading digits of the steps between ticks
PADDING = 0.04  # space at each end of an axis, as a fraction of the range of the values


@dataclass(frozen=True)
class Scale:
    """An axis from `low` to `high` with its ticks."""

    low: float
    high: float
    ticks: tuple[float, ...]
    log: bool = False

    def position(self, value: float) -> float:
        """Return the position of a value, as a percentage of the axis."""
        low, high, value = (math.log(x) if self.log else x for x in (self.low, self.high, value))
        return round(100 * (value - low) / (high - low), 2)

    def from_top(self, value: float) -> float:
        """Return the position of a value on a vertical axis, as a percentage from the top."""
        return round(100 - self.position(value), 2)

    def format_tick(self, value: float) -> str:
        """Format a tick.

        On a linear axis, it has as many decimals as its distance to the next tick requires; on a log axis, it has up to
        three significant digits.
        """
        if self.log:
            return format_compact(value)
        step = self.ticks[1] - self.ticks[0] if len(self.ticks) > 1 else 1.0
        return f"{value:,.{max(0, -math.floor(math.log10(step) + 1e-9))}f}".replace("-", MINUS)


class ChartRow(NamedTuple):
    """One row of a table with interval charts."""

    name: str
    value: float | None  # None if the row has no chart
    low: float | None
    high: float | None
    cells: Sequence[str | int]
    style: str = "plain"  # CSS class


class ChartTable(NamedTuple):
    """A table with an interval chart in each row."""

    scale: Scale
    heads: Sequence[str]  # headings of the columns after the chart
    rows: Sequence[ChartRow]
    description: str  # description of the charts, for screen readers


def linear_scale(values: Iterable[float], ticks: int = 4, whole: bool = False) -> Scale:
    """Return a linear scale over all finite values, or over [0, 1] if there are none.

    The scale has about `ticks` ticks, which are whole numbers if `whole` is true.
    """
    low, high = _ends(values)
    if low == high:
        low, high = (low - 0.5, high + 0.5) if whole else (low - abs(low) / 20 - 0.01, high + abs(high) / 20 + 0.01)
    rough = (high - low) / ticks
    power = 10.0 ** math.floor(math.log10(rough))
    step = power * next((digit for digit in TICK_DIGITS if digit * power >= rough * 0.75), 10)
    step = max(1.0, round(step)) if whole else step
    padding = PADDING * (high - low)
    low, high = low - padding, high + padding
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return Scale(low, high, tuple(step * n for n in range(first, last + 1)))


def log_scale(values: Iterable[float]) -> Scale:
    """Return a logarithmic scale over all finite values; there must be at least one, and all must be positive."""
    low, high = _ends(values)
    padding = max((high / low) ** PADDING, 1.1)
    low, high = low / padding, high * padding
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    ticks = tuple(tick for power in powers for digit in TICK_DIGITS if low <= (tick := digit * 10.0**power) <= high)
    if len(ticks) < 3:  # the scale covers less than a power of ten
        ticks = tuple(tick for tick in linear_scale((low, high)).ticks if low <= tick <= high)
    return Scale(low, high, ticks, log=True)


def _ends(values: Iterable[float]) -> tuple[float, float]:
    finite = [value for value in values if math.isfinite(value)]
    return (min(finite), max(finite)) if finite else (0.0, 1.0)

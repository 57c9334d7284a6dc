"""Elements of charts: scales, axes, intervals, dots and lines, as SVG that stretches with its box.

Coordinates are per cent of the box: a chart adapts to the width of the screen, and its text keeps its size.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from src.reports.page.formatting import MINUS, format_compact
from src.reports.page.html import Html, join, tag

Points = Iterable[tuple[float, float]]
TICK_DIGITS = (1, 2, 5)  # leading digits of the steps between ticks
PADDING = 0.04  # fraction of an axis that stays empty at each end


@dataclass(frozen=True)
class Scale:
    """An axis from `low` to `high` with its ticks."""

    low: float
    high: float
    ticks: tuple[float, ...]
    log: bool = False

    def position(self, value: float) -> float:
        """The position of a value, in per cent of the axis."""
        low, high, value = (math.log(x) if self.log else x for x in (self.low, self.high, value))
        return round(100 * (value - low) / (high - low), 2)

    def from_top(self, value: float) -> float:
        """The position of a value on a vertical axis, in per cent from the top."""
        return round(100 - self.position(value), 2)

    def format_tick(self, value: float) -> str:
        """Format a tick with as many decimals as its distance to the next tick requires."""
        if self.log:
            return format_compact(value)
        step = self.ticks[1] - self.ticks[0] if len(self.ticks) > 1 else 1.0
        return f"{value:,.{max(0, -math.floor(math.log10(step) + 1e-9))}f}".replace("-", MINUS)


def linear_scale(values: Iterable[float], ticks: int = 4, whole: bool = False) -> Scale:
    """A linear scale that covers all values, with about `ticks` ticks; `whole` restricts ticks to whole numbers."""
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
    """A logarithmic scale that covers all values, which must be positive."""
    low, high = _ends(values)
    padding = max((high / low) ** PADDING, 1.1)
    low, high = low / padding, high * padding
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    ticks = tuple(tick for power in powers for digit in TICK_DIGITS if low <= (tick := digit * 10.0**power) <= high)
    if len(ticks) < 3:  # less than a power of ten
        ticks = tuple(tick for tick in linear_scale((low, high)).ticks if low <= tick <= high)
    return Scale(low, high, ticks, log=True)


def interval_chart(scale: Scale, value: float, low: float | None, high: float | None) -> Html:
    """A dot on its interval, in a table row; hidden from screen readers, because the row also has the numbers."""
    line = None
    if low is not None and high is not None:
        line = tag(
            "line", x1=f"{scale.position(low)}%", x2=f"{scale.position(high)}%", y1="50%", y2="50%", class_="whisker"
        )
    dot = tag("circle", cx=f"{scale.position(value)}%", cy="50%", r=4.5)
    return tag("svg", _grid(scale), line, dot, aria_hidden="true")


def axis_header(scale: Scale, description: str) -> Html:
    """The axis above a column of interval charts."""
    texts = (tag("text", scale.format_tick(tick), x=f"{scale.position(tick)}%", y="80%") for tick in scale.ticks)
    return tag("svg", *texts, role="img", aria_label=description)


def _grid(scale: Scale) -> Html:
    lines = (
        tag("line", x1=f"{x}%", x2=f"{x}%", y1=0, y2="100%", class_="zero" if abs(tick) < 1e-12 else None)
        for tick in scale.ticks
        for x in [scale.position(tick)]
    )
    return tag("g", *lines, class_="grid")


def plot(x: Scale, y: Scale, marks: Html, *, x_label: str, y_label: str, description: str) -> Html:
    """Two axes and their marks.

    Args:
        x: the horizontal scale.
        y: the vertical scale.
        marks: elements from `lines`, `dot` and `vertical_interval`.
        x_label: label of the horizontal axis.
        y_label: label of the vertical axis.
        description: text alternative for screen readers.
    """
    rows = (
        join(
            tag("line", x1=0, x2="100%", y1=f"{y.from_top(t)}%", y2=f"{y.from_top(t)}%"),
            tag("text", y.format_tick(t), x=0, dx=-6, y=f"{y.from_top(t)}%", dy="0.35em", class_="side"),
        )
        for t in y.ticks
    )
    columns = (
        join(
            tag("line", x1=f"{x.position(t)}%", x2=f"{x.position(t)}%", y1=0, y2="100%"),
            tag("text", x.format_tick(t), x=f"{x.position(t)}%", y="100%", dy="1.4em"),
        )
        for t in x.ticks
    )
    labels = (
        tag("text", y_label, x=0, y=0, dy="-0.7em", class_="name up"),
        tag("text", x_label, x="100%", y="100%", dy="2.9em", class_="name across"),
    )
    grid = tag("g", *rows, *columns, *labels, class_="grid")
    return tag("div", tag("svg", grid, marks, role="img", aria_label=description), class_="plot")


def lines(x: Scale, y: Scale, curves: Sequence[tuple[str, Points]]) -> Html:
    """A polyline for each pair of CSS class and points."""
    polylines = []
    for css_class, points in curves:
        coordinates = " ".join(f"{x.position(left)},{y.from_top(value)}" for left, value in points)
        polylines.append(tag("polyline", points=coordinates, class_=css_class))
    return tag("svg", *polylines, class_="lines", viewBox="0 0 100 100", preserveAspectRatio="none")


Shape = Literal["circle", "square", "diamond", "triangle", "cross"]
SHAPES: tuple[Shape, ...] = ("circle", "square", "diamond", "triangle", "cross")
OUTLINES = {
    "square": "M-4.5-4.5h9v9h-9z",
    "diamond": "M0-6 6 0 0 6-6 0z",
    "triangle": "M0-5.8 5.6 4.2H-5.6z",
    "cross": "M-5-2h3v-3h4v3h3v4h-3v3h-4v-3h-3z",
}


def mark(shape: Shape) -> Html:
    """A shape centred on the origin."""
    return tag("circle", r=5) if shape == "circle" else tag("path", d=OUTLINES[shape])


def vertical_interval(left: float, low: float, high: float, css_class: str) -> Html:
    """The interval of a dot as a vertical line."""
    return tag("line", x1=f"{left}%", x2=f"{left}%", y1=f"{low}%", y2=f"{high}%", class_=f"whisker {css_class}")


def dot(left: float, top: float, shape: Shape, css_class: str, tooltip: str) -> Html:
    """A mark with a tooltip, at a position in per cent of the box."""
    content = join(tag("title", tooltip), mark(shape))
    # only a nested <svg> accepts a position in per cent
    return tag("svg", content, x=f"{left}%", y=f"{top}%", class_=f"dot {css_class}")


def _ends(values: Iterable[float]) -> tuple[float, float]:
    finite = [value for value in values if math.isfinite(value)]
    return (min(finite), max(finite)) if finite else (0.0, 1.0)

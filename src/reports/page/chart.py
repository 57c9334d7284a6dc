"""What charts are made of: scales, axes, intervals, dots and lines, as SVG that stretches with its box.

Places are per cent of the box, so that a chart fits a phone and its letters keep their size.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from src.reports.page.formatting import MINUS, brief
from src.reports.page.html import Html, join, tag

Points = Iterable[tuple[float, float]]
NICE = (1, 2, 5)  # leading digits of the steps between ticks
PAD = 0.04  # of an axis, left free at each end


@dataclass(frozen=True)
class Scale:
    """An axis from `low` to `high`, with its ticks."""

    low: float
    high: float
    ticks: tuple[float, ...]
    log: bool = False

    def at(self, value: float) -> float:
        """Where a value stands, in per cent of the axis."""
        low, high, value = (math.log(x) if self.log else x for x in (self.low, self.high, value))
        return round(100 * (value - low) / (high - low), 2)

    def down(self, value: float) -> float:
        """Where it stands on an upright axis, in per cent from the top."""
        return round(100 - self.at(value), 2)

    def say(self, value: float) -> str:
        """A tick as text: as many decimals as tell the ticks apart."""
        if self.log:
            return brief(value)
        step = self.ticks[1] - self.ticks[0] if len(self.ticks) > 1 else 1.0
        return f"{value:,.{max(0, -math.floor(math.log10(step) + 1e-9))}f}".replace("-", MINUS)


def linear(values: Iterable[float], ticks: int = 4, whole: bool = False) -> Scale:
    """A scale around all values, with about so many ticks; `whole` puts them at whole numbers alone."""
    low, high = _ends(values)
    if low == high:
        low, high = (low - 0.5, high + 0.5) if whole else (low - abs(low) / 20 - 0.01, high + abs(high) / 20 + 0.01)
    rough = (high - low) / ticks
    power = 10.0 ** math.floor(math.log10(rough))
    step = power * next((digit for digit in NICE if digit * power >= rough * 0.75), 10)
    step = max(1.0, round(step)) if whole else step
    free = PAD * (high - low)
    low, high = low - free, high + free
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return Scale(low, high, tuple(step * n for n in range(first, last + 1)))


def logarithmic(values: Iterable[float]) -> Scale:
    """A scale of ratios around all values, which must be above 0."""
    low, high = _ends(values)
    free = max((high / low) ** PAD, 1.1)
    low, high = low / free, high * free
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    ticks = tuple(tick for power in powers for digit in NICE if low <= (tick := digit * 10.0**power) <= high)
    if len(ticks) < 3:  # less than a power of ten
        ticks = tuple(tick for tick in linear((low, high)).ticks if low <= tick <= high)
    return Scale(low, high, ticks, log=True)


def track(scale: Scale, value: float, low: float | None, high: float | None) -> Html:
    """A dot on its interval, in one row of a table; the numbers stand beside it, so nothing is said twice."""
    line = None
    if low is not None and high is not None:
        line = tag("line", x1=f"{scale.at(low)}%", x2=f"{scale.at(high)}%", y1="50%", y2="50%", class_="whisker")
    dot = tag("circle", cx=f"{scale.at(value)}%", cy="50%", r=4.5)
    return tag("svg", _grid(scale), line, dot, aria_hidden="true")


def head(scale: Scale, said: str) -> Html:
    """The axis above a column of tracks."""
    texts = (tag("text", scale.say(tick), x=f"{scale.at(tick)}%", y="80%") for tick in scale.ticks)
    return tag("svg", *texts, role="img", aria_label=said)


def _grid(scale: Scale) -> Html:
    lines = (
        tag("line", x1=f"{x}%", x2=f"{x}%", y1=0, y2="100%", class_="zero" if abs(tick) < 1e-12 else None)
        for tick in scale.ticks
        for x in [scale.at(tick)]
    )
    return tag("g", *lines, class_="grid")


def plot(x: Scale, y: Scale, marks: Html, *, across: str, up: str, said: str) -> Html:
    """Axes with their marks.

    Args:
        x: the scale along the bottom.
        y: the scale up the side.
        marks: what `line` and `dot` gave.
        across: names the bottom, `up` the side.
        said: the chart in words, for those who cannot see it.
    """
    rows = (
        join(
            tag("line", x1=0, x2="100%", y1=f"{y.down(t)}%", y2=f"{y.down(t)}%"),
            tag("text", y.say(t), x=0, dx=-6, y=f"{y.down(t)}%", dy="0.35em", class_="side"),
        )
        for t in y.ticks
    )
    columns = (
        join(
            tag("line", x1=f"{x.at(t)}%", x2=f"{x.at(t)}%", y1=0, y2="100%"),
            tag("text", x.say(t), x=f"{x.at(t)}%", y="100%", dy="1.4em"),
        )
        for t in x.ticks
    )
    named = (
        tag("text", up, x=0, y=0, dy="-0.7em", class_="name up"),
        tag("text", across, x="100%", y="100%", dy="2.9em", class_="name across"),
    )
    grid = tag("g", *rows, *columns, *named, class_="grid")
    return tag("div", tag("svg", grid, marks, role="img", aria_label=said), class_="plot")


def lines(x: Scale, y: Scale, drawn: Sequence[tuple[str, Points]]) -> Html:
    """Lines by class and points, stretched with the box."""
    paths = []
    for kind, points in drawn:
        places = " ".join(f"{x.at(at)},{y.down(value)}" for at, value in points)
        paths.append(tag("polyline", points=places, class_=kind))
    return tag("svg", *paths, class_="lines", viewBox="0 0 100 100", preserveAspectRatio="none")


Shape = Literal["circle", "square", "diamond", "triangle", "cross"]
SHAPES: tuple[Shape, ...] = ("circle", "square", "diamond", "triangle", "cross")
OUTLINES = {
    "square": "M-4.5-4.5h9v9h-9z",
    "diamond": "M0-6 6 0 0 6-6 0z",
    "triangle": "M0-5.8 5.6 4.2H-5.6z",
    "cross": "M-5-2h3v-3h4v3h3v4h-3v3h-4v-3h-3z",
}


def mark(shape: Shape) -> Html:
    """A shape about its own middle."""
    return tag("circle", r=5) if shape == "circle" else tag("path", d=OUTLINES[shape])


def upright(left: float, low: float, high: float, kind: str) -> Html:
    """The interval of a dot, up and down."""
    return tag("line", x1=f"{left}%", x2=f"{left}%", y1=f"{low}%", y2=f"{high}%", class_=f"whisker {kind}")


def dot(left: float, top: float, shape: Shape, kind: str, said: str) -> Html:
    """A mark at a place in per cent of the box; hovering says what it is."""
    inside = join(tag("title", said), mark(shape))
    # only a nested <svg> can stand at a place in per cent
    return tag("svg", inside, x=f"{left}%", y=f"{top}%", class_=f"dot {kind}")


def _ends(values: Iterable[float]) -> tuple[float, float]:
    held = [value for value in values if math.isfinite(value)]
    return (min(held), max(held)) if held else (0.0, 1.0)

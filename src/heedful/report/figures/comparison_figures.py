"""The chart of several variants: values with their intervals."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from heedful.report.figures.style import COLOURS, GREY, INK, name_axes, new_figure, user_text
from heedful.report.words import clean_text
from heedful.terms.intervals import Interval


class Bar(NamedTuple):
    """A row of a chart of intervals."""

    name: str
    interval: Interval
    colour: str = COLOURS[0]
    linear: Interval | None = None  # of the linear baseline


def draw_intervals(bars: Sequence[Bar], title: str, unit: str, zero: bool = False) -> Figure:
    """Draw a dot on its interval for each row, the first row at the top; `zero` adds a line at 0.

    The score of a row's linear baseline is a vertical stroke.
    """
    figure = new_figure(9.5, 0.26 * len(bars) + 1.1)
    axes = figure.subplots()
    for row, bar in enumerate(bars):
        if bar.linear is not None:
            _draw_interval(axes, row, bar.linear, INK, marker="|", markersize=13, markeredgewidth=1.5)
        _draw_interval(axes, row, bar.interval, bar.colour, marker="o", markersize=5)
    if any(bar.linear is not None for bar in bars):
        axes.plot([], [], "|", color=INK, markersize=9, markeredgewidth=1.5, label="linear baseline")
        axes.legend(fontsize=8, frameon=False, loc="lower right", bbox_to_anchor=(1, 1), borderaxespad=0.2)
    if zero:
        axes.axvline(0, color=GREY, linewidth=1)
    axes.set_yticks(range(len(bars)), [clean_text(bar.name, 60) for bar in bars], **user_text(8.5), color=INK)
    name_axes(axes, title, unit, "")
    axes.set_ylim(len(bars) - 0.4, -0.6)
    axes.tick_params(axis="y", length=0)
    return figure


def _draw_interval(axes: Axes, row: int, interval: Interval, colour: str, **style: Any) -> None:
    value, low, high, _ = interval
    if low is not None and high is not None:
        axes.plot([low, high], [row, row], color=colour, linewidth=2, alpha=0.6, solid_capstyle="round")
    axes.plot(value, row, color=colour, **style)

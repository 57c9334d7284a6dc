"""Charts of several variants: values with intervals, and score against cost."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import NullFormatter

from heedful.report.figures.style import COLOURS, GREY, INK, name_axes, new_figure, user_text
from heedful.report.numbers import format_compact
from heedful.report.words import clean_text
from heedful.terms.intervals import Interval

SHAPES = "osD^PvX"
MIN_LOG = 10  # minimum ratio of the largest and the smallest cost for a logarithmic axis


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


class Mark(NamedTuple):
    """A variant in a chart of score against cost, with the factors that determine its colour and shape."""

    costs: Mapping[str, float | None]
    interval: Interval
    colour: str
    shape: str


def draw_costs(marks: Sequence[Mark], kinds: Sequence[str], score: str) -> Figure:
    """Draw the score against each kind of cost, with a legend of the factors."""
    figure = new_figure(4.2 * len(kinds) + 1.5, 4.2)
    colours = {name: COLOURS[n % len(COLOURS)] for n, name in enumerate(dict.fromkeys(mark.colour for mark in marks))}
    shapes = {name: SHAPES[n % len(SHAPES)] for n, name in enumerate(dict.fromkeys(mark.shape for mark in marks))}
    panels = figure.subplots(1, len(kinds), sharey=True, squeeze=False)[0]
    for axes, kind in zip(panels, kinds, strict=True):
        costs = []
        for mark_costs, interval, colour, shape in marks:
            if cost := mark_costs[kind]:
                value, low, high = interval[:3]
                costs.append(cost)
                axes.plot(cost, value, shapes[shape], color=colours[colour], markersize=6)
                if low is not None and high is not None:
                    axes.plot([cost, cost], [low, high], color=colours[colour], linewidth=1.2, alpha=0.5)
        if costs and max(costs) > MIN_LOG * min(costs):
            axes.set_xscale("log")
            axes.xaxis.set_minor_formatter(NullFormatter())  # labels of minor ticks would overlap
        axes.xaxis.set_major_formatter(lambda value, _: format_compact(value))
        name_axes(axes, "", kind, score if axes is panels[0] else "")
    legend = [(name, "o", colour) for name, colour in colours.items() if len(colours) > 1]
    legend += [(name, shape, GREY) for name, shape in shapes.items() if len(shapes) > 1]
    for name, shape, colour in legend:
        panels[0].plot([], [], shape, color=colour, label=clean_text(name))
    if legend:
        figure.legend(loc="outside right upper", fontsize=8, frameon=False)
    return figure

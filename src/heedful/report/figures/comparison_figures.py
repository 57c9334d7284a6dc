"""Charts of several variants: values with intervals, score against cost, and curves."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import NullFormatter

from heedful.report.figures.run_figures import SPLITS
from heedful.report.figures.style import COLOURS, GREY, INK, integer_ticks, name_axes, new_figure, user_text
from heedful.report.numbers import format_compact
from heedful.report.words import clean_text
from heedful.runs.run_files import History
from heedful.terms.intervals import Interval

SHAPES = "osD^PvX"
MIN_LOG = 10  # minimum ratio of the largest and the smallest cost for a logarithmic axis
MAX_CURVES = 24  # maximum number of variants with a panel of curves


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


def draw_variant_curves(variants: Sequence[tuple[str, Sequence[History]]], score: str, label: str) -> Figure | None:
    """Draw a panel for each variant, with a line for each run and split and common axes; None without values."""
    shown = [(name, histories) for name, histories in variants if any(f"val/{score}" in h for h in histories)]
    if not shown:
        return None
    shown = shown[:MAX_CURVES]
    across = min(5, len(shown))
    down = -(-len(shown) // across)
    figure = new_figure(2.3 * across + 0.6, 1.9 * down + 0.5)
    panels = figure.subplots(down, across, sharex=True, sharey=True, squeeze=False).ravel()
    for axes, (name, histories) in zip(panels, shown, strict=False):
        name_axes(axes, "", "", label if axes is panels[0] else "")
        axes.set_title(clean_text(name, 30), loc="left", **user_text(8))
        axes.xaxis.set_major_locator(integer_ticks(nbins=4))
        for split, split_name, colour, marker in SPLITS:
            for history in histories:
                by_epoch = sorted(history.get(f"{split}/{score}", {}).items())
                x, y = [epoch + 1 for epoch, _ in by_epoch], [value for _, value in by_epoch]
                axes.plot(x, y, color=colour, linewidth=1, alpha=0.7, marker=marker if len(x) == 1 else "")
            axes.lines[-1].set_label(split_name)
    for axes in panels[len(shown) :]:
        axes.axis("off")
    panels[0].legend(fontsize=7, frameon=False)
    figure.supxlabel("epoch (from 1)", fontsize=9)
    return figure

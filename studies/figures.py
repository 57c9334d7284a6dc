"""The charts of the reports: values with intervals."""

from collections.abc import Sequence
from typing import NamedTuple

from matplotlib.figure import Figure

from heedful.report.figures.style import COLOURS, INK, name_axes, new_figure, user_text
from heedful.report.words import clean_text
from heedful.terms.intervals import Interval


class Bar(NamedTuple):
    """A row of a chart of intervals."""

    name: str
    interval: Interval
    colour: str = COLOURS[0]


def draw_intervals(bars: Sequence[Bar], title: str, unit: str) -> Figure:
    """Draw a dot on its interval for each row, the first row at the top."""
    figure = new_figure(9.5, 0.26 * len(bars) + 1.1)
    axes = figure.subplots()
    for row, (_, (value, low, high, _), colour) in enumerate(bars):
        if low is not None and high is not None:
            axes.plot([low, high], [row, row], color=colour, linewidth=2, alpha=0.6, solid_capstyle="round")
        axes.plot(value, row, color=colour, marker="o", markersize=5)
    axes.set_yticks(range(len(bars)), [clean_text(bar.name, 60) for bar in bars], **user_text(8.5), color=INK)
    name_axes(axes, title, unit, "")
    axes.set_ylim(len(bars) - 0.4, -0.6)
    axes.tick_params(axis="y", length=0)
    return figure

"""The figure for the main table: the accuracy of every combination of encoder and attention."""

from collections.abc import Mapping, Sequence
from math import floor
from statistics import mean

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from src.report.figures.style import COLOURS, GREY, INK, name_axes, new_figure
from src.terms.intervals import mean_of_terms

Accuracies = Mapping[tuple[str, str], Sequence[float]]  # encoder and attention → accuracy of each seed, in %
DETAIL = 5  # approximate distance from the left end of the second panel to the best mean, in points


def draw_accuracies(accuracies: Accuracies, encoders: Sequence[str], attentions: Sequence[str]) -> Figure:
    """Draw a row for each variant: the mean over seeds with its 95 % interval (Student's t), and a circle per seed.

    Args:
        accuracies: accuracies of the variants; the row of a missing variant is empty.
        encoders, attentions: names in the order of the rows.
    """
    figure = new_figure(9.5, 0.24 * len(encoders) * len(attentions) + 1.2)
    panels = figure.subplots(1, 2, sharey=True)
    for axes, title in zip(panels, ("Test accuracy", "The same, enlarged"), strict=True):
        _draw_rows(axes, accuracies, encoders, attentions)
        name_axes(axes, title, "%", "")
        axes.tick_params(axis="y", length=0)
        axes.set_ylim(len(encoders) * (len(attentions) + 1) - 1, -1)
    lowest = floor(max(mean(values) for values in accuracies.values()) - DETAIL)
    panels[1].set_xlim(lowest, lowest + DETAIL + 2)
    return figure


def _draw_rows(axes: Axes, accuracies: Accuracies, encoders: Sequence[str], attentions: Sequence[str]) -> None:
    labels: dict[float, str] = {}
    for group, encoder in enumerate(encoders):
        for number, attention in enumerate(attentions):
            row = group * (len(attentions) + 1) + number
            labels[row] = f"{encoder} · {attention}"
            if values := accuracies.get((encoder, attention)):
                colour = GREY if number == 0 else COLOURS[(number - 1) % len(COLOURS)]
                centre, low, high = mean_of_terms(values)
                axes.plot(values, [row] * len(values), "o", ms=3.5, mfc="none", mec=colour, alpha=0.5)
                if low is not None and high is not None:
                    axes.plot([low, high], [row, row], color=colour, linewidth=2)
                axes.plot(centre, row, "o", ms=5.5, color=colour)
    axes.set_yticks(list(labels), list(labels.values()), color=INK)

"""Attention weight by position in the text, and entropy of the attention weights."""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogFormatter, PercentFormatter

from src.reports.figures.style import COLOURS, name_axes, new_figure
from src.reports.files import Statistics


def draw_position(statistics: Statistics) -> Figure:
    """Draw the mean attention weight by relative position, with the uniform weight for comparison."""
    weight = statistics.position
    figure = new_figure(7, 3.6)
    axes = figure.subplots()
    axes.bar((np.arange(len(weight)) + 0.5) / len(weight), weight, 0.9 / len(weight), color=COLOURS[0])
    axes.axhline(float(weight.mean()), color=COLOURS[1], linestyle="--", linewidth=1.2, label="uniform weights")
    texts = f"{len(statistics.length):,} texts"
    name_axes(
        axes,
        f"Attention weight by position, mean of {texts}",
        "position in the text (0% is the first word)",
        f"weight in each {1 / len(weight):.0%} of the text",
    )
    axes.xaxis.set_major_formatter(PercentFormatter(1, decimals=0))
    axes.yaxis.set_major_formatter(lambda value, _: f"{100 * value:g}%")
    axes.set_xlim(0, 1)
    # above the axes: uniform bars leave no space inside
    axes.legend(fontsize=8, frameon=False, loc="lower right", bbox_to_anchor=(1, 1), borderaxespad=0.2)
    return figure


def draw_entropy(statistics: Statistics) -> Figure:
    """Draw entropy and effective number of words of each text by length, with the values of uniform weights."""
    figure = new_figure(10, 4)
    left, right = figure.subplots(1, 2)
    length = statistics.length.astype(float)
    span = np.geomspace(max(1.0, length.min()), max(2.0, length.max()), 100)
    _scatter(left, length, statistics.entropy, span, np.log(span))
    name_axes(left, "Entropy of the attention weights", "length of the text (words)", "entropy (nats)")
    _scatter(right, length, statistics.effective, span, span)
    name_axes(right, "Effective number of words, exp(entropy)", "length of the text (words)", "words")
    right.set_yscale("log")
    left.set_xscale("log")
    right.set_xscale("log")
    for axis in (left.xaxis, right.xaxis, right.yaxis):
        axis.set_major_formatter(LogFormatter())
        axis.set_minor_formatter(LogFormatter(minor_thresholds=(1.5, 0.5)))
        axis.set_tick_params(which="both", labelsize=8)
    left.legend(fontsize=8, frameon=False, loc="upper left")
    return figure


def _scatter(axes: Axes, length: np.ndarray, value: np.ndarray, span: np.ndarray, uniform: np.ndarray) -> None:
    alpha = float(np.clip(400 / len(length), 0.03, 0.8))
    axes.plot(length, value, "o", color=COLOURS[0], alpha=alpha, markersize=3, markeredgewidth=0, label="_")
    axes.plot([], [], "o", color=COLOURS[0], markersize=3, label="one text")
    axes.plot(span, uniform, "--", color=COLOURS[1], linewidth=1.2, label="uniform weights")
    groups = np.array_split(np.argsort(length, kind="stable"), max(1, min(20, len(length) // 50)))
    if len(groups) > 1:
        center, middle = zip(*((np.median(length[g]), np.median(value[g])) for g in groups), strict=True)
        axes.plot(center, middle, color="#111827", linewidth=1.5, label="median by length")

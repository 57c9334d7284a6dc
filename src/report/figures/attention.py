"""Attention statistics of many texts: weight by position, entropy, and the most attended words."""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from matplotlib.ticker import LogFormatter, PercentFormatter

from src.records.files import Lexicon, Statistics
from src.report.figures.style import COLOURS, GREY, name_axes, new_figure, user_text
from src.report.words import clean_text

KINDS = {"positive": COLOURS[0], "negative": COLOURS[1], "not in the lexicon": "#c7ccd4"}


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
    # the legend is above the axes, because bars of equal height leave no space inside them
    axes.legend(fontsize=8, frameon=False, loc="lower right", bbox_to_anchor=(1, 1), borderaxespad=0.2)
    return figure


def draw_entropy(statistics: Statistics) -> Figure:
    """Draw the entropy and effective number of words of each text by its length, with curves for uniform weights."""
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


def draw_lexicon(statistics: Lexicon) -> Figure:
    """Draw the mean weight of the most attended words in multiples of the uniform weight.

    Args:
        statistics: content of `lexicon.json`.
    """
    words = statistics["words"]
    figure = new_figure(7, 1.6 + 0.17 * len(words))
    axes = figure.subplots()
    strengths = [0.0 if word["strength"] is None else word["strength"] for word in words]
    kinds = ["positive" if s > 0 else "negative" if s < 0 else "not in the lexicon" for s in strengths]
    axes.barh(range(len(words)), [word["lift"] for word in words], 0.75, color=[KINDS[kind] for kind in kinds])
    axes.axvline(1, color=GREY, linestyle="--", linewidth=1)
    ratio = f"{statistics['ratio']:.2f} ({statistics['low']:.2f} to {statistics['high']:.2f})"
    name_axes(
        axes,
        f"Weight of lexicon words: {ratio} × uniform, {statistics['texts']:,} texts",
        "mean attention weight of an occurrence / uniform weight",
        "",
    )
    axes.set_yticks(range(len(words)), [clean_text(word["word"]) for word in words], **user_text(7.5))
    axes.set_ylim(len(words) - 0.5, -0.5)
    axes.grid(False, axis="y")
    used = [kind for kind in KINDS if kind in kinds]
    axes.legend([Patch(color=KINDS[kind]) for kind in used], used, fontsize=8, frameon=False, loc="lower right")
    return figure

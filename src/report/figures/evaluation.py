"""The predictions for a split: confusion matrix, and reliability diagram (Guo et al. 2017, figure 1)."""

from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from src.report.figures.style import COLOURS, GREY, INK, WEIGHTS, name_axes, new_figure, user_text
from src.report.words import clean_text
from src.terms.evaluation import wilson_interval
from src.terms.scores import BINS, accuracy, confidence_bins, ece

MAX_NUMBERED = 25  # with more classes, the cells are too small for numbers


def draw_confusion(table: np.ndarray, class_names: Sequence[str], split: str) -> Figure:
    """Draw the confusion matrix C×C, with a row for each true class; colour each cell by its fraction of the row."""
    classes, labels = len(class_names), [clean_text(name) for name in class_names]
    rows = table.sum(1, keepdims=True)
    fraction = np.divide(table, rows, out=np.zeros(table.shape), where=rows > 0)
    cell, size = (0.95, 9.0) if classes <= 8 else (0.56, 7.5)  # cell side in inches, font size in points
    side = min(14.0, max(2.4, classes * cell))
    longest = max(map(len, labels)) * 0.08
    is_vertical = longest > side / classes
    figure = new_figure(side + 1.6 + longest, side + 1.2 + (longest if is_vertical else 0), "compressed")
    axes = figure.subplots()
    image = axes.imshow(fraction, cmap=WEIGHTS, vmin=0, vmax=1)
    step = -(-classes // 70)  # at most 70 names fit on an axis
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_ticks(range(0, classes, step), labels[::step], **user_text(size))
    axes.tick_params(axis="x", labelrotation=90 if is_vertical else 0)
    axes.set_xlabel("predicted class", fontsize=9)
    axes.set_ylabel("true class", fontsize=9)
    axes.set_title(f"Confusion matrix, {split} split, n = {table.sum():,}", loc="left", fontsize=10.5)
    for row, column in np.ndindex(*table.shape if classes <= MAX_NUMBERED else (0, 0)):
        ink = "white" if fraction[row, column] > 0.55 else INK
        percent = f"{fraction[row, column]:.0%}" if rows[row, 0] else "\N{EN DASH}"
        cell_text = f"{table[row, column]:,}\n{percent}"
        axes.text(column, row, cell_text, ha="center", va="center", color=ink, fontsize=size - 1)
    bar = figure.colorbar(image, ax=axes, shrink=0.8, aspect=30, format=lambda value, _: f"{value:.0%}")
    bar.set_label("fraction of the true class", fontsize=8)
    bar.ax.tick_params(labelsize=8)
    return figure


def draw_reliability(probabilities: np.ndarray, labels: np.ndarray, split: str) -> Figure:
    """Draw the accuracy of each confidence bin with its 95 % Wilson interval and, below it, the number of its texts."""
    figure = new_figure(6, 6)
    upper, lower = figure.subplots(2, 1, sharex=True, height_ratios=(3, 1))
    confidence, correct = probabilities.max(1), accuracy(probabilities, labels)
    bins = confidence_bins(confidence)
    count, hits, total = (np.bincount(bins, weights, BINS) for weights in (None, correct, confidence))
    centres, filled = (np.arange(BINS) + 0.5) / BINS, count > 0
    shares = hits[filled] / count[filled]
    intervals = [wilson_interval(int(k), int(n)) for k, n in zip(hits[filled], count[filled], strict=True)]
    upper.bar(centres[filled], shares, 0.92 / BINS, color=COLOURS[5], label="accuracy of the bin")
    style = {"fmt": "D", "color": COLOURS[1], "markersize": 4, "ecolor": INK, "elinewidth": 1, "capsize": 2}
    interval_label, errors = "accuracy at mean confidence, 95% interval", np.abs(np.array(intervals).T - shares)
    upper.errorbar(total[filled] / count[filled], shares, errors, label=interval_label, clip_on=False, **style)
    upper.plot([0, 1], [0, 1], "--", color=GREY, linewidth=1, label="perfect calibration")
    error = float(ece(probabilities, labels).mean())
    name_axes(upper, f"Reliability, {split} split: ECE {error:.3f}, n = {len(labels):,}", "", "accuracy")
    upper.set(xlim=(0, 1), ylim=(0, 1.02))
    upper.legend(fontsize=8, frameon=False, loc="upper left")
    lower.bar(centres, count, 0.92 / BINS, color=GREY)
    lower.yaxis.set_major_locator(MaxNLocator(integer=True, nbins=4, min_n_ticks=1))
    name_axes(lower, "", "confidence (probability of the predicted class)", "texts")
    return figure

"""The figures of a run: training, predictions, and the attention weights of many texts."""

from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import LogFormatter, PercentFormatter

from heedful.base.formatting import SPLIT_NAMES, capitalize
from heedful.report.figures.style import COLOURS, GREY, INK, WEIGHTS, integer_ticks, name_axes, new_figure, user_text
from heedful.report.words import clean_text
from heedful.runs.run_files import History, Predictions, Statistics
from heedful.tasks.score_intervals import BINS, confidence_bins, wilson_interval
from heedful.tasks.scores import ece
from heedful.tasks.stored import find_main_score
from heedful.terms import measurements

SPLITS = (("train", SPLIT_NAMES["train"], COLOURS[0], "o"), ("val", SPLIT_NAMES["val"], COLOURS[1], "s"))
MAX_NUMBERED = 25  # with more classes, the cells are too small for numbers


def draw_curves(history: History, best_epoch: int | None, has_branch: bool = False) -> Figure:
    """Draw the loss and the main score side by side; epochs are numbered from 1 (from 0 in metrics.csv).

    Args:
        has_branch: whether the model has a branch, which takes part in the validation only.
    """
    figure = new_figure(10, 4)
    epochs = {epoch for by_epoch in history.values() for epoch in by_epoch}
    score = find_main_score(history, "val")
    panels = (("loss", "loss"), (score, measurements.label(score)))
    for axes, (score, unit) in zip(figure.subplots(1, 2), panels, strict=True):
        for split, name, colour, marker in SPLITS:
            if by_epoch := sorted(history.get(f"{split}/{score}", {}).items()):
                x, y = [epoch + 1 for epoch, _ in by_epoch], [value for _, value in by_epoch]
                size = 5 if len(x) <= 20 else 2.5
                label = f"{name}, without the branch" if has_branch and split == "train" else name
                axes.plot(x, y, color=colour, marker=marker, markersize=size, label=label)
        if best_epoch is not None:
            axes.axvline(best_epoch + 1, color=GREY, linestyle=":", label=f"best epoch: {best_epoch + 1}")
        name_axes(axes, f"{capitalize(unit)} by epoch", "epoch (from 1)", unit)
        axes.xaxis.set_major_locator(integer_ticks())
        axes.set_xlim(min(epochs) + 0.5, max(epochs) + 1.5)
        if axes.lines:
            axes.legend(fontsize=8, frameon=False)
    return figure


def draw_gradients(norms: dict[str, np.ndarray]) -> Figure:
    """Draw the gradient norm of each component by step.

    A log axis cannot show 0, NaN or infinity, so the legend gives the number of these values.

    Args:
        norms: component → array with rows (step, norm).
    """
    figure = new_figure(10, 4.5)
    axes = figure.subplots()
    for number, (component, points) in enumerate(norms.items()):
        valid = points[np.isfinite(points[:, 1]) & (points[:, 1] > 0)]
        omitted = len(points) - len(valid)
        label = f"{component} ({omitted} values that are 0, NaN or infinite)" if omitted else component
        dashes, marker = ("-", "--", ":")[number // len(COLOURS) % 3], "o" if len(valid) < 10 else ""
        (line,) = axes.plot(*valid.T, label=label, color=COLOURS[number % len(COLOURS)], marker=marker, markersize=5)
        line.set(linestyle=dashes, linewidth=1.5 if len(valid) <= 200 else 0.6)
    axes.set_yscale("log")
    axes.xaxis.set_major_locator(integer_ticks())
    name_axes(axes, "Gradient norm by component", "optimizer step", "L2 norm of the gradient")
    figure.legend(*axes.get_legend_handles_labels(), loc="outside right upper", fontsize=8, frameon=False)
    return figure


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


def draw_reliability(predictions: Predictions) -> Figure:
    """Draw the accuracy of each confidence bin with its 95 % Wilson interval and, below it, the number of its texts."""
    figure = new_figure(6, 6)
    upper, lower = figure.subplots(2, 1, sharex=True, height_ratios=(3, 1))
    split, probabilities, labels, task, *_ = predictions
    confidence, correct = task.confidence(probabilities), predictions.is_correct
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
    lower.yaxis.set_major_locator(integer_ticks(nbins=4))
    name_axes(lower, "", "confidence (probability of the predicted class)", "texts")
    return figure


def draw_position(statistics: Statistics) -> Figure:
    """Draw the mean attention weight by relative position, with the uniform weight for comparison."""
    weight, texts = statistics.position_mean, f"{len(statistics.length):,} texts"
    figure = new_figure(7, 3.6)
    axes = figure.subplots()
    axes.bar((np.arange(len(weight)) + 0.5) / len(weight), weight, 0.9 / len(weight), color=COLOURS[0])
    axes.axhline(float(weight.mean()), color=COLOURS[1], linestyle="--", linewidth=1.2, label="uniform weights")
    part = f"weight in each {1 / len(weight):.0%} of the text"
    name_axes(
        axes, f"Attention weight by position, mean of {texts}", "position in the text (0% is the first word)", part
    )
    axes.xaxis.set_major_formatter(PercentFormatter(1, decimals=0))
    axes.yaxis.set_major_formatter(lambda value, _: f"{100 * value:g}%")
    axes.set_xlim(0, 1)
    # the legend is above the axes, because bars of equal height leave no space inside them
    axes.legend(fontsize=8, frameon=False, loc="lower right", bbox_to_anchor=(1, 1), borderaxespad=0.2)
    return figure


def draw_entropy(statistics: Statistics) -> Figure:
    """Draw the effective number of words of each text, exp(entropy), by its length, with a line of uniform weights."""
    figure = new_figure(7, 4)
    axes = figure.subplots()
    length, value = statistics.length, statistics.effective
    alpha = float(np.clip(400 / len(length), 0.03, 0.8))
    axes.plot(length, value, "o", color=COLOURS[0], alpha=alpha, markersize=3, markeredgewidth=0, label="_")
    axes.plot([], [], "o", color=COLOURS[0], markersize=3, label="one text")
    ends = [max(1.0, length.min()), max(2.0, length.max())]
    axes.plot(ends, ends, "--", color=COLOURS[1], linewidth=1.2, label="uniform weights")
    groups = np.array_split(np.argsort(length, kind="stable"), max(1, min(20, len(length) // 50)))
    if len(groups) > 1:
        center, middle = zip(*((np.median(length[g]), np.median(value[g])) for g in groups), strict=True)
        axes.plot(center, middle, color=INK, linewidth=1.5, label="median by length")
    name_axes(axes, "Effective number of words, exp(entropy)", "length of the text (words)", "words")
    axes.set(xscale="log", yscale="log")
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter(LogFormatter())
        axis.set_minor_formatter(LogFormatter(minor_thresholds=(1.5, 0.5)))
        axis.set_tick_params(which="both", labelsize=8)
    axes.legend(fontsize=8, frameon=False, loc="upper left")
    return figure


def draw_scatter(predictions: Predictions) -> Figure:
    """Draw the prediction of each text by its true number, with a line where both are equal."""
    true, predicted = predictions.labels, predictions.predicted
    figure = new_figure(6, 5)
    axes = figure.subplots()
    alpha = float(np.clip(400 / len(true), 0.03, 0.8))
    axes.plot(true, predicted, "o", color=COLOURS[0], alpha=alpha, markersize=4, markeredgewidth=0)
    ends = [float(true.min()), float(true.max())]
    axes.plot(ends, ends, "--", color=GREY, linewidth=1, label="prediction = true number")
    name_axes(axes, f"Predictions, {predictions.split} split, n = {len(true):,}", "true number", "predicted number")
    axes.legend(fontsize=8, frameon=False, loc="upper left")
    return figure

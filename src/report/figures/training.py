"""The course of training: loss and accuracy by epoch, and the gradient norm of each component by step."""

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from src.records.files import History
from src.report.figures.style import COLOURS, GREY, name_axes, new_figure

PANELS = (("loss", "Loss", "loss"), ("acc", "Accuracy", "accuracy"))
SPLITS = (("train", "training", COLOURS[0], "o"), ("val", "validation", COLOURS[1], "s"))
MAX_POINTS = 200  # maximum number of points of a line; the figure cannot resolve more


def draw_curves(history: History, best_epoch: int | None = None) -> Figure:
    """Draw loss and accuracy side by side; epochs are numbered from 1 (from 0 in metrics.csv)."""
    figure = new_figure(10, 4)
    epochs = {epoch for by_epoch in history.values() for epoch in by_epoch}
    for axes, (score, title, label) in zip(figure.subplots(1, 2), PANELS, strict=True):
        for split, name, colour, marker in SPLITS:
            by_epoch = sorted(history.get(f"{split}/{score}", {}).items())
            if by_epoch:
                x, y = [epoch + 1 for epoch, _ in by_epoch], [value for _, value in by_epoch]
                size = 5 if len(x) <= 20 else 2.5
                axes.plot(x, y, color=colour, marker=marker, markersize=size, label=name)
        if best_epoch is not None:
            axes.axvline(best_epoch + 1, color=GREY, linestyle=":", label=f"best epoch: {best_epoch + 1}")
        name_axes(axes, f"{title} by epoch", "epoch (from 1)", label)
        axes.xaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
        axes.set_xlim(min(epochs) + 0.5, max(epochs) + 1.5)
        if axes.lines:
            axes.legend(fontsize=8, frameon=False)
    return figure


def draw_gradients(norms: dict[str, np.ndarray]) -> Figure:
    """Draw the gradient norm of each component by step.

    In a long run, each point is the median of several measurements, and a band shows their minimum and maximum. A log
    axis cannot show 0, NaN or infinity, so the legend gives the number of these values.

    Args:
        norms: component → array with rows (step, norm).
    """
    figure = new_figure(10, 4.5)
    axes = figure.subplots()
    for number, (component, points) in enumerate(norms.items()):
        valid = points[np.isfinite(points[:, 1]) & (points[:, 1] > 0)]
        step, middle, low, high = downsample(valid)
        colour, dashes = COLOURS[number % len(COLOURS)], ("-", "--", ":")[number // len(COLOURS) % 3]
        marker = "o" if len(step) < 10 else ""
        label = component + _count_omitted(points[:, 1])
        axes.plot(step, middle, label=label, color=colour, linestyle=dashes, marker=marker, markersize=5)
        axes.fill_between(step, low, high, color=colour, alpha=0.15, linewidth=0)
    axes.set_yscale("log")
    axes.xaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
    longest = max(len(points) for points in norms.values())
    group = -(-longest // MAX_POINTS)
    band = f" (median of up to {group} measurements, band: minimum to maximum)" if group > 1 else ""
    name_axes(axes, f"Gradient norm by component{band}", "optimizer step", "L2 norm of the gradient")
    figure.legend(*axes.get_legend_handles_labels(), loc="outside right upper", fontsize=8, frameon=False)
    return figure


def downsample(points: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Summarize the rows (step, norm) in at most 200 groups.

    Returns:
        The mean step and the median, minimum and maximum norm of each group.
    """
    groups = np.array_split(points, min(MAX_POINTS, len(points))) if len(points) else []
    rows = [(group[:, 0].mean(), np.median(group[:, 1]), group[:, 1].min(), group[:, 1].max()) for group in groups]
    step, middle, low, high = np.array(rows).reshape(-1, 4).T
    return step, middle, low, high


def _count_omitted(norms: np.ndarray) -> str:
    zeros, not_finite = int((norms == 0).sum()), int((~np.isfinite(norms)).sum())
    notes = [
        f"{count} {description}" for count, description in ((zeros, "at 0"), (not_finite, "NaN or infinite")) if count
    ]
    return f" (not drawn: {', '.join(notes)})" if notes else ""

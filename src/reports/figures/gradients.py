"""Norm of each part's gradient by step: a line that dives vanishes, one that climbs explodes."""

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from src.reports.figures.style import COLOURS, name_axes, new_figure

POINTS = 200  # more than the picture can show apart


def draw_gradients(parts: dict[str, np.ndarray]) -> Figure:
    """A line for each part, from steps × (step, norm).

    Of a long run each point is the median of several steps, in a band from the smallest to the largest. A log
    axis has no place for 0, NaN and infinity: the legend counts them.
    """
    figure = new_figure(10, 4.5)
    axes = figure.subplots()
    for number, (part, points) in enumerate(parts.items()):
        shown = points[np.isfinite(points[:, 1]) & (points[:, 1] > 0)]
        step, middle, low, high = thin(shown)
        colour, dashes = COLOURS[number % len(COLOURS)], ("-", "--", ":")[number // len(COLOURS) % 3]
        marker = "o" if len(step) < 10 else ""
        label = part + _left_out(points[:, 1])
        axes.plot(step, middle, label=label, color=colour, linestyle=dashes, marker=marker, markersize=5)
        axes.fill_between(step, low, high, color=colour, alpha=0.15, linewidth=0)
    axes.set_yscale("log")
    axes.xaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
    longest = max(len(points) for points in parts.values())
    each = -(-longest // POINTS)
    band = f" (medians of {each} measurements, band: smallest to largest)" if each > 1 else ""
    name_axes(axes, f"Gradient norm by part{band}", "optimizer step", "L2 norm of the gradient")
    figure.legend(*axes.get_legend_handles_labels(), loc="outside right upper", fontsize=8, frameon=False)
    return figure


def thin(points: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Steps × (step, norm) → mean step, median, smallest and largest norm of at most 200 runs of steps."""
    runs = np.array_split(points, min(POINTS, len(points))) if len(points) else []
    rows = [(run[:, 0].mean(), np.median(run[:, 1]), run[:, 1].min(), run[:, 1].max()) for run in runs]
    step, middle, low, high = np.array(rows).reshape(-1, 4).T
    return step, middle, low, high


def _left_out(norms: np.ndarray) -> str:
    zeros, wild = int((norms == 0).sum()), int((~np.isfinite(norms)).sum())
    notes = [f"{count} {what}" for count, what in ((zeros, "at 0"), (wild, "NaN or infinite")) if count]
    return f" ({', '.join(notes)})" if notes else ""

"""Charts of the benchmarks, drawn from the recorded measurements."""

from collections.abc import Mapping, Sequence
from itertools import cycle
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullFormatter, StrMethodFormatter

from benchmarks.measure import Spread
from src.reports.figures.style import COLOURS, GREY, INK, name_axes, new_figure

ROW, HEADER = 0.33, 0.75  # heights in inches of a bar with its margin, and of a panel's title and ticks
OTHERS = "#b6bcc6"

STYLES: dict[str, dict[str, Any]] = {  # line styles by kind of attention mechanism
    "query": {"color": COLOURS[0]},
    "pairs": {"color": COLOURS[1]},
    "window": {"color": COLOURS[3]},
    "elementwise": {"color": COLOURS[2], "linewidth": 2.2},
    "stored": {"color": GREY, "linestyle": "--"},
    "other": {"color": INK},
}
MARKERS = "os^Dv*"


def draw_speed(record: dict[str, Any]) -> Figure:
    """Draw a bar for each implementation.

    The bars of Heed are coloured. The other labels give the ratio of Heed's speed to that of the implementation.
    """
    workloads = record["works"]
    columns = min(2, len(workloads))
    bars = [
        max(len(workload["implementations"]) for workload in workloads[start : start + columns])
        for start in range(0, len(workloads), columns)
    ]
    heights = [ROW * count + HEADER for count in bars]
    figure = new_figure(5.2 * columns + 0.6, sum(heights) + 0.3)
    figure.get_layout_engine().set(wspace=0.04)  # type: ignore[union-attr, call-arg]
    grid = figure.subplots(len(bars), columns, squeeze=False, height_ratios=heights)
    for number, axes in enumerate(grid.flat):
        if number < len(workloads):
            _draw_bars(axes, workloads[number], bars[number // columns])
        else:
            axes.set_visible(False)
    precision = ", in bf16" if record["bf16"] else ""
    figure.supxlabel(f"reviews per second{precision}: median, with a line from the lowest to the highest", fontsize=9)
    return figure


def _draw_bars(axes: Axes, workload: dict[str, Any], rows: int) -> None:
    implementations = workload["implementations"]
    longest = max(max(row["reviews_per_second"]) for row in implementations)
    for y, row in enumerate(implementations):
        median, low, high = Spread.of(row["reviews_per_second"])
        is_heed = row["ratio"] is None
        axes.barh(y, median, 0.66, color=COLOURS[0] if is_heed else OTHERS)
        axes.plot([low, high], [y, y], color=INK, linewidth=1.2)
        label = f"{median:,.0f}" if is_heed else f"{median:,.0f}   (Heed: {Spread.of(row['ratio']).median:.2f} ×)"
        axes.text(max(high, median) + 0.02 * longest, y, label, va="center", fontsize=8)
    axes.set_yticks(range(len(implementations)), [row["name"] for row in implementations])
    axes.set_ylim(rows - 0.5, -0.5)
    axes.set_xlim(0, 1.45 * longest)
    name_axes(axes, workload["title"], "", "")
    axes.grid(False, axis="y")


def draw_length(record: dict[str, Any]) -> Figure:
    """Draw the time and memory of each attention mechanism by text length.

    A line marks the length above which elementwise attention needs less than `record["against"]`.
    """
    rows = sorted(record["attentions"], key=lambda row: list(STYLES).index(row["kind"]))
    ranks = {row["attention"]: [other for other in rows if other["kind"] == row["kind"]].index(row) for row in rows}
    styles = {
        row["attention"]: {**STYLES[row["kind"]], "marker": MARKERS[ranks[row["attention"]] % len(MARKERS)]}
        for row in rows
    }
    figure = new_figure(11.5, 4.6)
    panels = (("seconds", "Seconds per step", "seconds"), ("megabytes", "Memory per step", "MB"))
    for axes, (field, title, unit) in zip(figure.subplots(1, 2), panels, strict=True):
        lines = {row["attention"]: list(zip(record["lengths"], row[field], strict=True)) for row in rows}
        _draw_lines(axes, lines, styles)
        name_axes(axes, f"{title}, forward and backward, of {record['texts']} texts", "tokens per text", unit)
        crossing = record["overtakes"].get(record["against"], {}).get(field)
        if crossing is not None:
            axes.axvline(crossing, color=GREY, linestyle=":", linewidth=1)
            note = f"elementwise needs less than\n{record['against']} above {crossing:,.0f} tokens"
            transform = axes.get_xaxis_transform()  # x in tokens, y as a fraction of the panel
            axes.text(1.05 * crossing, 0.97, note, fontsize=7.5, color=GREY, transform=transform, va="top")
    figure.legend(*axes.get_legend_handles_labels(), loc="outside right center", fontsize=8, frameon=False)
    return figure


def draw_reviews(record: dict[str, Any]) -> Figure:
    """Draw the time and memory by number of reviews."""
    figure = new_figure(10, 4)
    left, right = figure.subplots(1, 2)
    times = {"epoch": "training epoch", "first": "tokenizing, first time", "cached": "tokenizing, cached"}
    lines = {label: list(zip(record["reviews"], record[field], strict=True)) for field, label in times.items()}
    _draw_lines(left, lines, {label: {"color": COLOURS[i], "marker": MARKERS[i]} for i, label in enumerate(lines)})
    name_axes(left, "Seconds by number of reviews", "training reviews", "seconds")
    left.legend(fontsize=8, frameon=False)
    points = [point for point in zip(record["reviews"], record["megabytes"], strict=True) if point[1] is not None]
    right.plot(*np.array(points).reshape(-1, 2).T, marker="o", markersize=3.5, color=COLOURS[0])
    _start_at_zero(right)
    name_axes(right, "Peak memory of training", "training reviews", "MB above the imports")
    return figure


def draw_resident(record: dict[str, Any]) -> Figure:
    """Draw the resident memory by training step, with a line for each setting."""
    figure = new_figure(8, 4)
    axes = figure.subplots()
    for colour, row in zip(cycle(COLOURS), record["settings"]):
        speed = Spread.of(row["reviews_per_second"]).median
        label = f"{row['setting']}: {speed:,.0f} reviews/s"
        axes.plot(*np.array(row["resident"]).reshape(-1, 2).T, color=colour, linewidth=1.3, label=label)
    _start_at_zero(axes)
    name_axes(axes, "Resident memory of training", "steps", "MB above the imports")
    axes.legend(fontsize=8, frameon=False)
    return figure


def draw_accuracy(record: dict[str, Any]) -> Figure:
    """Draw the test accuracy by seconds of training: a mark for each seed, a line through each program's medians."""
    figure = new_figure(7, 4.2)
    axes = figure.subplots()
    families: dict[str, list[dict[str, Any]]] = {}
    for row in record["rows"]:
        families.setdefault(row["name"].split(",")[0], []).append(row)
    for number, (family, rows) in enumerate(families.items()):
        colour, marker = COLOURS[number % len(COLOURS)], MARKERS[number % len(MARKERS)]
        points = np.array([(row["seconds"], 100 * row["accuracy"]) for row in rows])
        axes.plot(*points.T, marker, color=colour, alpha=0.5, markersize=5, markeredgewidth=0)
        names = dict.fromkeys(row["name"] for row in rows)
        medians = [np.median(points[[row["name"] == name for row in rows]], axis=0) for name in names]
        axes.plot(*np.array(medians).T, color=colour, marker=marker, linewidth=1.3, markersize=7, label=family)
    target = 100 * record["target"]
    axes.axhline(target, color=GREY, linestyle=":", linewidth=1, label=f"target: {target:g} %")
    axes.set_xlim(left=0)
    name_axes(axes, "Accuracy by seconds of training", "seconds of training", "test accuracy, %")
    axes.legend(fontsize=8, frameon=False)
    return figure


def _start_at_zero(axes: Axes) -> None:
    axes.set_xlim(left=0)
    axes.set_ylim(bottom=0)
    axes.xaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))


def _draw_lines(
    axes: Axes, lines: Mapping[str, Sequence[tuple[float, float]]], styles: Mapping[str, Mapping[str, Any]]
) -> None:
    """Draw lines on logarithmic axes, on which power laws are straight lines."""
    for name, points in lines.items():
        axes.plot(*np.array(points).T, label=name, **{"markersize": 4, "linewidth": 1.3, **styles[name]})
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    ticks = sorted({point[0] for points in lines.values() for point in points})
    axes.set_xticks(ticks, [f"{value:,.0f}" for value in ticks])
    axes.yaxis.set_major_locator(LogLocator(numticks=12))
    axes.yaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
    axes.yaxis.set_minor_formatter(NullFormatter())

"""Reliability diagram: accuracy by confidence (Guo et al. 2017, figure 1)."""

import numpy as np
from matplotlib.figure import Figure
from scipy.stats import binomtest

from src.analysis.calibration import Bins, calibration_error
from src.reports.figures.style import COLOURS, GREY, INK, name_axes, new_figure


def draw_reliability(bins: Bins, split: str) -> Figure:
    """Draw the accuracy of each confidence bin with its 95 % Wilson interval, and the number of texts below."""
    figure = new_figure(6, 6)
    upper, lower = figure.subplots(2, 1, sharex=True, height_ratios=(3, 1))
    m = len(bins.count)
    centres, filled = (np.arange(m) + 0.5) / m, bins.count > 0
    accuracy = bins.correct[filled] / bins.count[filled]
    intervals = [
        binomtest(int(k), int(n)).proportion_ci(0.95, "wilson")
        for k, n in zip(bins.correct[filled], bins.count[filled], strict=True)
    ]
    errors = np.abs(np.array([(i.low, i.high) for i in intervals]).T - accuracy)
    upper.bar(centres[filled], accuracy, 0.92 / m, color=COLOURS[5], label="accuracy of the bin")
    style = {"fmt": "D", "color": COLOURS[1], "markersize": 4, "ecolor": INK, "elinewidth": 1, "capsize": 2}
    upper.errorbar(bins.confidence[filled], accuracy, errors, label="at its mean confidence, 95% interval", **style)
    upper.plot([0, 1], [0, 1], "--", color=GREY, linewidth=1, label="perfect calibration")
    total = bins.count.sum()
    name_axes(
        upper,
        f"Reliability, {split} split: ECE {calibration_error(bins):.3f}, n = {total:,}",
        "",
        "accuracy",
    )
    upper.set(xlim=(0, 1), ylim=(0, 1.02))
    upper.legend(fontsize=8, frameon=False, loc="upper left")
    lower.bar(centres, bins.count, 0.92 / m, color=GREY)
    name_axes(lower, "", "confidence (probability of the predicted class)", "texts")
    return figure

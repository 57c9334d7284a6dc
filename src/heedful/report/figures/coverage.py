"""The figure of accuracy by coverage: how often a run's most confident predictions are right."""

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter

from heedful.report.figures.style import COLOURS, name_axes, new_figure
from heedful.runs.run_files import Predictions
from heedful.terms.confidence import measure_limits


def draw_coverage(predictions: Predictions) -> Figure:
    """Draw the accuracy of the texts from each confidence, with 95 % intervals, by their share of all texts."""
    limits, total = measure_limits(predictions), len(predictions.labels)
    figure = new_figure(6, 3.6)
    axes = figure.subplots()
    axes.plot([each.texts / total for each in limits], [1 - each.error for each in limits], color=COLOURS[0])
    bounds = [(e.texts / total, 1 - e.high, 1 - e.low) for e in limits if e.low is not None and e.high is not None]
    if bounds:
        x, low, high = np.array(bounds).T
        axes.fill_between(x, low, high, color=COLOURS[0], alpha=0.2, linewidth=0)
    title = f"Accuracy by coverage, {predictions.split} split, n = {total:,}"
    name_axes(axes, title, "share of the texts, the most confident first", "accuracy, 95% interval")
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter(PercentFormatter(1, decimals=0))
    axes.set_xlim(0, 1)
    return figure

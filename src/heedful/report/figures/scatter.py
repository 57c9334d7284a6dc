"""The figure of predicted against true numbers."""

import numpy as np
from matplotlib.figure import Figure

from heedful.report.figures.style import COLOURS, GREY, name_axes, new_figure
from heedful.runs.run_files import Predictions


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

"""The figure of the main table contains each mean, its interval and every seed."""

import pytest

from studies.figure import draw_accuracies


def test_means_intervals_and_seeds():
    accuracies = {("lstm", "none"): [69.0, 71.0], ("rnn", "uniform"): [88.0]}
    figure = draw_accuracies(accuracies, ["rnn", "lstm"], ["none", "uniform"])
    left = figure.axes[0]
    labels = {label.get_text(): y for y, label in zip(left.get_yticks(), left.get_yticklabels(), strict=True)}
    assert list(labels) == ["rnn · none", "rnn · uniform", "lstm · none", "lstm · uniform"]
    for axes in figure.axes:
        lines = {tuple(line.get_xdata()) for line in axes.lines if line.get_ydata()[0] == labels["lstm · none"]}
        (interval,) = lines - {(69.0, 71.0), (70.0,)}  # the seeds, the mean
        assert interval == pytest.approx((70 - 12.7062, 70 + 12.7062), abs=1e-4)  # t for one degree of freedom
        lines = [line for line in axes.lines if line.get_ydata()[0] == labels["rnn · uniform"]]
        assert [tuple(line.get_xdata()) for line in lines] == [(88.0,), (88.0,)]  # one seed has no interval
    assert figure.axes[1].get_xlim() == (83.0, 90.0)  # the best mean is 88

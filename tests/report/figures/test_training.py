import numpy as np
import pytest

from src.report.figures.training import MAX_POINTS, downsample, draw_curves, draw_gradients

HISTORY = {
    "train/loss": {0: 0.9, 1: 0.5, 2: 0.3},
    "val/loss": {0: 0.8, 1: 0.6, 2: 0.7},
    "train/acc": {0: 0.5, 1: 0.7, 2: 0.9},
    "val/acc": {0: 0.55, 1: 0.75, 2: 0.65},
}


def test_curves_of_training_and_validation_with_the_best_epoch() -> None:
    loss, accuracy = draw_curves(HISTORY, 1).axes
    lines = {line.get_label(): line for line in accuracy.lines}
    assert list(lines["training"].get_ydata()) == [0.5, 0.7, 0.9]
    assert list(lines["validation"].get_xdata()) == [1, 2, 3]
    assert list(lines["best epoch: 2"].get_xdata()) == [2, 2]
    assert [line.get_label() for line in loss.lines] == ["training", "validation", "best epoch: 2"]


def test_curves_without_validation_and_best_epoch() -> None:
    loss, accuracy = draw_curves({"train/loss": {0: 0.7}}).axes
    assert [line.get_label() for line in loss.lines] == ["training"]
    assert len(accuracy.lines) == 0 and accuracy.get_legend() is None


@pytest.mark.parametrize("epochs", [1, 2, 50])
def test_ticks_are_integer_epochs(epochs: int) -> None:
    figure = draw_curves({"train/loss": {epoch: 1 / (1 + epoch) for epoch in range(epochs)}}, 0)
    low, high = figure.axes[0].get_xlim()
    ticks = [tick for tick in figure.axes[0].get_xticks() if low <= tick <= high]
    assert ticks and all(tick == int(tick) for tick in ticks)


def norms(*values: float) -> np.ndarray:
    return np.stack([np.arange(len(values)), values], 1)


def test_a_short_run_has_every_measurement_on_a_log_axis() -> None:
    axes = draw_gradients({"encoder": norms(4, 2, 1), "head": norms(1, 3, 9)}).axes[0]
    assert axes.get_yscale() == "log"
    assert {line.get_label(): list(line.get_ydata()) for line in axes.lines} == {
        "encoder": [4, 2, 1],
        "head": [1, 3, 9],
    }


def test_a_downsampled_run_keeps_its_minimum_and_maximum() -> None:
    values = np.ones(20 * MAX_POINTS)
    values[777], values[778] = 1e6, 1e-6
    step, middle, low, high = downsample(norms(*values))
    assert len(step) == MAX_POINTS
    assert (high.max(), low.min(), middle.max()) == (1e6, 1e-6, 1)
    assert step[777 // 20] == 760 + 9.5
    assert "median of up to 20 measurements" in draw_gradients({"head": norms(*values)}).axes[0].get_title(loc="left")


def test_values_that_are_not_on_a_log_axis_are_counted() -> None:
    components = {"embedding": norms(0, 0, 0), "head": norms(1, np.inf, np.nan), "encoder": norms(0, np.nan, 2)}
    axes = draw_gradients(components).axes[0]
    assert [line.get_label() for line in axes.lines] == [
        "embedding (not drawn: 3 at 0)",
        "head (not drawn: 2 NaN or infinite)",
        "encoder (not drawn: 1 at 0, 1 NaN or infinite)",
    ]
    assert [len(line.get_xdata()) for line in axes.lines] == [0, 1, 1]


def test_many_components_have_distinct_lines() -> None:
    axes = draw_gradients({f"layer {index}": norms(1, 2) for index in range(20)}).axes[0]
    assert len({(line.get_color(), line.get_linestyle()) for line in axes.lines}) == 20

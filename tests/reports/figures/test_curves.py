import pytest

from src.reports.figures.curves import draw_curves

HISTORY = {
    "train/loss": {0: 0.9, 1: 0.5, 2: 0.3},
    "val/loss": {0: 0.8, 1: 0.6, 2: 0.7},
    "train/acc": {0: 0.5, 1: 0.7, 2: 0.9},
    "val/acc": {0: 0.55, 1: 0.75, 2: 0.65},
}


def test_training_against_validation_with_the_best_epoch() -> None:
    loss, accuracy = draw_curves(HISTORY, 1).axes
    lines = {line.get_label(): line for line in accuracy.lines}
    assert list(lines["training"].get_ydata()) == [0.5, 0.7, 0.9]
    assert list(lines["validation"].get_xdata()) == [0, 1, 2]
    assert list(lines["best epoch: 1"].get_xdata()) == [1, 1]
    assert [line.get_label() for line in loss.lines] == ["training", "validation", "best epoch: 1"]


def test_no_validation_and_no_best_epoch() -> None:
    loss, accuracy = draw_curves({"train/loss": {0: 0.7}}).axes
    assert [line.get_label() for line in loss.lines] == ["training"]
    assert len(accuracy.lines) == 0 and accuracy.get_legend() is None


@pytest.mark.parametrize("epochs", [1, 2, 50])
def test_ticks_are_integer_epochs(epochs: int) -> None:
    figure = draw_curves({"train/loss": {epoch: 1 / (1 + epoch) for epoch in range(epochs)}}, 0)
    low, high = figure.axes[0].get_xlim()
    ticks = [tick for tick in figure.axes[0].get_xticks() if low <= tick <= high]
    assert ticks and all(tick == int(tick) for tick in ticks)

"""The figures of a run, and how figures are saved."""

from pathlib import Path

import numpy as np
import pytest
from matplotlib.image import imread

from heedful.report.figures.run_figures import (
    draw_confusion,
    draw_curves,
    draw_entropy,
    draw_gradients,
    draw_reliability,
)
from heedful.report.figures.style import new_figure, save_figure, user_text
from heedful.runs.run_files import Statistics
from tests.helpers import classified

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
    for axes in draw_curves(HISTORY, None, has_branch=True).axes:
        assert [line.get_label() for line in axes.lines] == ["training, without the branch", "validation"]


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


def test_values_that_are_not_on_a_log_axis_are_counted() -> None:
    components = {"embedding": norms(0, 0, 0), "head": norms(1, np.inf, np.nan), "encoder": norms(0, np.nan, 2)}
    axes = draw_gradients(components).axes[0]
    omitted = {"embedding": 3, "head": 2, "encoder": 2}
    labels = [f"{name} ({count} values that are 0, NaN or infinite)" for name, count in omitted.items()]
    assert [line.get_label() for line in axes.lines] == labels
    assert [len(line.get_xdata()) for line in axes.lines] == [0, 1, 1]


def test_cells_contain_counts_and_fractions_of_the_true_class() -> None:
    table = np.array([[1200, 300], [0, 0]])
    axes = draw_confusion(table, ["bad", "good"], "test").axes[0]
    assert [text.get_text() for text in axes.texts] == ["1,200\n80%", "300\n20%", "0\n–", "0\n–"]
    np.testing.assert_allclose(axes.images[0].get_array(), [[0.8, 0.2], [0, 0]])
    assert axes.get_title(loc="left") == "Confusion matrix, test split, n = 1,500"
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("predicted class", "true class")


@pytest.mark.parametrize(("classes", "numbers"), [(2, 4), (3, 9), (5, 25), (20, 400), (77, 0)])
def test_numbers_and_names_for_any_number_of_classes(classes: int, numbers: int) -> None:
    names = [f"a rather long name {c:02}" for c in range(classes)]
    figure = draw_confusion(np.eye(classes, dtype=int), names, "val")
    axes = figure.axes[0]
    assert len(axes.texts) == numbers
    assert [label.get_text() for label in axes.get_yticklabels()] == (names if classes < 70 else names[::2])
    assert figure.get_figwidth() < 19


def test_names_are_not_parsed_as_formulas() -> None:
    axes = draw_confusion(np.eye(2, dtype=int), ["$5", "$10_$"], "test").axes[0]
    assert not any(label.get_parse_math() for label in axes.get_xticklabels())


def test_bins_with_texts_have_intervals_and_counts() -> None:
    """Four texts with a confidence of 0.62, of which one is correct, and sixteen with 0.9, of which twelve are."""
    confidence = np.array([0.62] * 4 + [0.9] * 16)
    labels = np.array([0] + [1] * 3 + [0] * 12 + [1] * 4)
    upper, lower = draw_reliability(classified(np.stack([confidence, 1 - confidence], 1), labels)).axes
    assert [(bar.get_x() + bar.get_width() / 2, bar.get_height()) for bar in upper.patches] == [
        (pytest.approx(9.5 / 15), 0.25),
        (pytest.approx(13.5 / 15), 0.75),
    ]
    assert [bar.get_height() for bar in lower.patches] == [0] * 9 + [4, 0, 0, 0, 16, 0]
    assert upper.get_title(loc="left") == "Reliability, test split: ECE 0.194, n = 20"  # (4·0.37 + 16·0.15) / 20
    (ends,) = (bar.get_segments() for bar in upper.collections)
    assert ends[0][:, 0] == pytest.approx([0.62, 0.62])
    assert ends[0][:, 1] == pytest.approx([0.0456, 0.6994], abs=1e-4)  # Wilson interval of 1 of 4


@pytest.mark.parametrize(("n", "medians"), [(1, 0), (8, 0), (1000, 20)])
def test_effective_number_of_words_by_length(n: int, medians: int, tmp_path: Path) -> None:
    length = np.arange(1, n + 1)
    figure = draw_entropy(Statistics(np.full(50, 0.02), np.log(length) / 2, np.sqrt(length), length))
    (axes,) = figure.axes
    assert len(axes.lines[0].get_xdata()) == n
    assert axes.lines[0].get_ydata()[-1] == pytest.approx(np.sqrt(n))
    uniform = axes.lines[2]
    assert list(uniform.get_ydata()) == list(uniform.get_xdata())
    median_lines = [line for line in axes.lines if line.get_label() == "median by length"]
    assert [len(line.get_xdata()) for line in median_lines] == ([medians] if medians else [])
    save_figure(figure, tmp_path / "entropy.png")  # a single length has no range on a log axis


def test_a_figure_is_saved_at_150_dpi(tmp_path: Path) -> None:
    figure = new_figure(4, 3)
    figure.subplots().text(0, 0, "日本 😀 हिन्दी", **user_text(9))  # a warning would be an error
    path = save_figure(figure, tmp_path / "new" / "picture.png")
    height, width, _ = imread(path).shape
    assert (width, height) == pytest.approx((600, 450), abs=50)
    assert list(path.parent.iterdir()) == [path]

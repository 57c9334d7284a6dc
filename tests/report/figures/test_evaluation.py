import numpy as np
import pytest

from src.report.figures.evaluation import draw_confusion, draw_reliability
from src.terms.calibration import Bins


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


@pytest.mark.parametrize(("names", "rotation"), [(["no", "yes"], 0), (["somewhat negative", "positive"], 90)])
def test_long_names_are_vertical(names: list[str], rotation: int) -> None:
    axes = draw_confusion(np.eye(2, dtype=int), names, "test").axes[0]
    assert [label.get_rotation() for label in axes.get_xticklabels()] == [rotation, rotation]


def test_names_are_not_parsed_as_formulas() -> None:
    axes = draw_confusion(np.eye(2, dtype=int), ["$5", "$10_$"], "test").axes[0]
    assert not any(label.get_parse_math() for label in axes.get_xticklabels())


def test_bins_with_texts_have_intervals_and_counts() -> None:
    bins = Bins(np.array([0, 4, 0, 16]), np.array([0, 1, 0, 12]), np.array([np.nan, 0.3, np.nan, 0.9]))
    upper, lower = draw_reliability(bins, "test").axes
    assert [(bar.get_x() + bar.get_width() / 2, bar.get_height()) for bar in upper.patches] == [
        (pytest.approx(0.375), 0.25),
        (pytest.approx(0.875), 0.75),
    ]
    assert [bar.get_height() for bar in lower.patches] == [0, 4, 0, 16]
    assert upper.get_title(loc="left") == "Reliability, test split: ECE 0.130, n = 20"  # (4·0.05 + 16·0.15) / 20
    (ends,) = (bar.get_segments() for bar in upper.collections)
    assert ends[0][:, 0].tolist() == [0.3, 0.3]
    assert ends[0][:, 1] == pytest.approx([0.0456, 0.6994], abs=1e-4)  # Wilson interval of 1 of 4


def test_the_bins_of_a_single_text() -> None:
    upper, _ = draw_reliability(Bins(np.array([0, 1]), np.array([0, 1]), np.array([np.nan, 0.8])), "val").axes
    assert [bar.get_height() for bar in upper.patches] == [1]

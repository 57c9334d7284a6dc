import numpy as np
import pytest

from src.report.figures.evaluation import draw_confusion, draw_reliability


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
    """Four texts with a confidence of 0.62, of which one is correct, and sixteen with 0.9, of which twelve are."""
    confidence = np.array([0.62] * 4 + [0.9] * 16)
    labels = np.array([0] + [1] * 3 + [0] * 12 + [1] * 4)
    upper, lower = draw_reliability(np.stack([confidence, 1 - confidence], 1), labels, "test").axes
    assert [(bar.get_x() + bar.get_width() / 2, bar.get_height()) for bar in upper.patches] == [
        (pytest.approx(9.5 / 15), 0.25),
        (pytest.approx(13.5 / 15), 0.75),
    ]
    assert [bar.get_height() for bar in lower.patches] == [0] * 9 + [4, 0, 0, 0, 16, 0]
    assert upper.get_title(loc="left") == "Reliability, test split: ECE 0.194, n = 20"  # (4·0.37 + 16·0.15) / 20
    (ends,) = (bar.get_segments() for bar in upper.collections)
    assert ends[0][:, 0] == pytest.approx([0.62, 0.62])
    assert ends[0][:, 1] == pytest.approx([0.0456, 0.6994], abs=1e-4)  # Wilson interval of 1 of 4


def test_the_bins_of_a_single_text() -> None:
    upper, _ = draw_reliability(np.array([[0.2, 0.8]]), np.array([1]), "val").axes
    assert [bar.get_height() for bar in upper.patches] == [1]

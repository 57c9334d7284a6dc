from itertools import pairwise

import numpy as np
import pytest
from matplotlib import colormaps
from matplotlib.backends.backend_agg import FigureCanvasAgg

from src.reports.figures.strip import GAP, TEXT, draw_strip, lay_out
from src.reports.figures.style import WEIGHTS


def test_lines_are_filled_from_the_left() -> None:
    assert lay_out([3, 2, 4, 9, 1], 7, 1) == [(0, 0), (0, 4), (1, 0), (2, 0), (3, 0)]
    assert lay_out([], 7, 1) == []


@pytest.mark.parametrize("length", [1, 10, 500])
def test_words_are_inside_the_figure_without_overlap(length: int) -> None:
    words = [f"word{index}" for index in range(length)]
    figure = draw_strip(words, np.full(length, 1 / length), "title")
    axes = figure.axes[0]
    assert [text.get_text() for text in axes.texts] == words
    boxes = [patch.get_bbox() for patch in axes.patches]
    assert all(box.x0 >= 0 and box.x1 <= TEXT and box.y1 <= axes.get_ylim()[0] for box in boxes)
    for left, right in pairwise(boxes):
        assert right.y0 > left.y0 or right.x0 >= left.x1 + GAP - 1e-9
    renderer = FigureCanvasAgg(figure).get_renderer()
    for text, patch in zip(axes.texts, axes.patches, strict=True):
        assert text.get_window_extent(renderer).width <= patch.get_window_extent(renderer).width


def test_the_colour_depends_on_the_weight() -> None:
    axes = draw_strip(["not", "so", "bad", "at", "all"], np.array([0.8, 0.1, 0.1, 0.0, 0.0]), "title").axes[0]
    colours = [patch.get_facecolor() for patch in axes.patches]
    assert colours[0] == colormaps[WEIGHTS](1.0) and colours[3] == colormaps[WEIGHTS](0.0)
    assert axes.texts[0].get_color() == "white" and axes.texts[1].get_color() != "white"


def test_the_ten_most_attended_words_are_listed() -> None:
    weights = np.arange(13) / 78
    axes = draw_strip([f"w{index}" for index in range(13)], weights, "title").axes[1]
    assert [label.get_text() for label in axes.get_yticklabels()] == [f"w{index}" for index in range(12, 2, -1)]
    assert [bar.get_width() for bar in axes.patches] == pytest.approx(weights[:2:-1])
    assert axes.texts[0].get_text() == "0.1538"


def test_a_long_text_is_truncated_after_a_thousand_words() -> None:
    weights = np.zeros(1200)
    weights[1100] = 1.0
    figure = draw_strip(["a"] * 1100 + ["late"] + ["a"] * 99, weights, "long")
    assert len(figure.axes[0].patches) == 1000
    assert figure.texts[0].get_text() == "long (first 1,000 of 1,200 words)"
    assert figure.axes[1].get_yticklabels()[0].get_text() == "late"


def test_no_words_and_nan_weights_are_drawn() -> None:
    assert draw_strip([], np.array([]), "empty").axes[0].texts[0].get_text() == "(no words)"
    axes = draw_strip(["a", "b"], np.array([np.nan, 0.5]), "half").axes[0]
    assert axes.patches[0].get_facecolor() == colormaps[WEIGHTS](0.0)


def test_text_is_not_parsed_as_formula() -> None:
    figure = draw_strip(["$x_1$"], np.array([1.0]), "$y$")
    assert not any(text.get_parse_math() for text in [figure.texts[0], *figure.axes[0].texts])


def test_each_word_requires_a_weight() -> None:
    with pytest.raises(ValueError, match="one weight for each word"):
        draw_strip(["a"], np.array([0.5, 0.5]), "title")

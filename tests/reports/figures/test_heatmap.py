import numpy as np
import pytest
from matplotlib.axis import Axis

from src.reports.figures.heatmap import draw_heads, draw_heatmap, most_attended

RNG = np.random.default_rng(2)


def weights(heads: int, length: int) -> np.ndarray:
    return RNG.dirichlet(np.ones(length), (heads, length))


def words(length: int) -> list[str]:
    return [f"w{index}" for index in range(length)]


def labels(axis: Axis) -> list[str]:
    return [label.get_text() for label in axis.get_ticklabels() if label.get_text()]


def test_a_short_text_has_its_words_on_both_axes_and_numbers_in_its_cells() -> None:
    matrix = weights(3, 5)
    figure = draw_heatmap(words(5), matrix, "some text")
    axes = figure.axes[0]
    np.testing.assert_allclose(axes.images[0].get_array(), matrix.mean(0))
    assert labels(axes.xaxis) == labels(axes.yaxis) == words(5)
    assert [text.get_text() for text in axes.texts] == [f"{weight:.2f}" for weight in matrix.mean(0).ravel()]
    assert figure.get_suptitle() == "Attention weights, mean of 3 heads\nsome text"


def test_a_single_head_has_one_map() -> None:
    matrix = weights(1, 7)
    figure = draw_heatmap(words(7), matrix, "some text")
    np.testing.assert_allclose(figure.axes[0].images[0].get_array(), matrix[0])
    assert figure.get_suptitle() == "Attention weights\nsome text"


def test_a_text_of_31_words_has_no_numbers() -> None:
    axes = draw_heatmap(words(31), weights(2, 31), "some text").axes[0]
    assert labels(axes.yaxis) == words(31) and len(axes.texts) == 0


def test_a_long_text_has_an_overview_and_its_most_attended_words() -> None:
    matrix = np.full((2, 500, 500), 0.5 / 460)
    matrix[:, :, 100:140] = 0.5 / 40
    figure = draw_heatmap(words(500), matrix, "some text")
    overview, detail = figure.axes[:2]
    assert overview.images[0].get_array().shape == (500, 500)
    assert detail.images[0].get_array().shape == (40, 40)
    assert labels(detail.xaxis) == labels(detail.yaxis) == [f"w{index} {index + 1}" for index in range(100, 140)]
    assert "40 most attended words, with 50%" in detail.get_xlabel()
    rows = figure.dpi * figure.get_figheight() / 40
    assert rows > 2 * detail.get_yticklabels()[0].get_fontsize()  # pixels for each label


@pytest.mark.parametrize(("heads", "length", "num_labels"), [(2, 5, 5), (5, 20, 20), (16, 3, 3), (3, 500, 20)])
def test_each_head_has_its_map_on_one_scale(heads: int, length: int, num_labels: int) -> None:
    matrix = weights(heads, length)
    figure = draw_heads(words(length), matrix, "some text")
    maps = [axes for axes in figure.axes if axes.images]
    assert [axes.get_xlabel() for axes in maps] == [f"head {head + 1}" for head in range(heads)]
    assert {axes.images[0].get_clim() for axes in maps} == {(0, max(matrix.max(), min(1, 3 / length)))}
    assert len(labels(maps[0].yaxis)) == len(labels(maps[0].xaxis)) == num_labels
    columns = most_attended(matrix.mean(0), 20)
    np.testing.assert_allclose(maps[-1].images[0].get_array(), matrix[-1][np.ix_(columns, columns)])


def test_many_heads_are_limited_to_sixteen() -> None:
    figure = draw_heads(words(3), weights(37, 3), "some text")
    assert sum(len(axes.images) for axes in figure.axes) == 16
    assert "first 16 of 37" in figure.get_suptitle()


def test_one_token_and_nan_weights_are_drawn() -> None:
    assert draw_heatmap(["alone"], np.ones((1, 1, 1)), "some text").axes[0].texts[0].get_text() == "1.00"
    axes = draw_heatmap(["a", "b"], np.full((1, 2, 2), np.nan), "some text").axes[0]
    np.testing.assert_array_equal(axes.images[0].get_array(), np.zeros((2, 2)))


def test_most_attended_by_column_in_the_order_of_the_text() -> None:
    assert most_attended(np.array([[0.1, 0.6, 0.3], [0.2, 0.3, 0.5]]), 2).tolist() == [1, 2]

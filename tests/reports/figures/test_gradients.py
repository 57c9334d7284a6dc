import numpy as np

from src.reports.figures.gradients import POINTS, draw_gradients, thin


def norms(*values: float) -> np.ndarray:
    return np.stack([np.arange(len(values)), values], 1)


def test_a_short_run_is_drawn_whole_on_a_log_axis() -> None:
    axes = draw_gradients({"encoder": norms(4, 2, 1), "head": norms(1, 3, 9)}).axes[0]
    assert axes.get_yscale() == "log"
    assert {line.get_label(): list(line.get_ydata()) for line in axes.lines} == {
        "encoder": [4, 2, 1],
        "head": [1, 3, 9],
    }


def test_a_long_run_keeps_its_extremes() -> None:
    values = np.ones(20 * POINTS)
    values[777], values[778] = 1e6, 1e-6
    step, middle, low, high = thin(norms(*values))
    assert len(step) == POINTS
    assert (high.max(), low.min(), middle.max()) == (1e6, 1e-6, 1)
    assert step[777 // 20] == 760 + 9.5
    assert "medians of 20" in draw_gradients({"head": norms(*values)}).axes[0].get_title(loc="left")


def test_what_a_log_axis_cannot_show_is_counted() -> None:
    parts = {"embedding": norms(0, 0, 0), "head": norms(1, np.inf, np.nan), "encoder": norms(0, np.nan, 2)}
    axes = draw_gradients(parts).axes[0]
    assert [line.get_label() for line in axes.lines] == [
        "embedding (3 at 0)",
        "head (2 NaN or infinite)",
        "encoder (1 at 0, 1 NaN or infinite)",
    ]
    assert [len(line.get_xdata()) for line in axes.lines] == [0, 1, 1]


def test_many_parts_stay_apart() -> None:
    axes = draw_gradients({f"layer {at}": norms(1, 2) for at in range(20)}).axes[0]
    assert len({(line.get_color(), line.get_linestyle()) for line in axes.lines}) == 20

from pathlib import Path

import numpy as np
import pytest

from src.records.files import Statistics
from src.report.figures.attention import draw_entropy, draw_position
from src.report.figures.style import save_figure


def make_statistics(n: int) -> Statistics:
    length = np.arange(1, n + 1)
    return Statistics(np.full(50, 0.02), np.log(length) / 2, np.sqrt(length), length)


def test_the_mean_weight_is_drawn_by_position() -> None:
    axes = draw_position(make_statistics(1234)).axes[0]
    assert len(axes.patches) == 50
    assert sum(bar.get_height() for bar in axes.patches) == pytest.approx(1)
    assert list(axes.lines[0].get_ydata()) == pytest.approx([0.02, 0.02])
    assert axes.get_xlim() == (0, 1)
    assert "1,234 texts" in axes.get_title(loc="left")


@pytest.mark.parametrize(("n", "medians"), [(1, 0), (8, 0), (1000, 20)])
def test_entropy_and_effective_number_by_length(n: int, medians: int, tmp_path: Path) -> None:
    figure = draw_entropy(make_statistics(n))
    entropy, effective = figure.axes
    assert len(entropy.lines[0].get_xdata()) == n
    assert effective.lines[0].get_ydata()[-1] == pytest.approx(np.sqrt(n))
    uniform = entropy.lines[2]
    assert uniform.get_ydata() == pytest.approx(np.log(uniform.get_xdata()))
    median_lines = [line for line in entropy.lines if line.get_label() == "median by length"]
    assert [len(line.get_xdata()) for line in median_lines] == ([medians] if medians else [])
    save_figure(figure, tmp_path / "entropy.png")  # a single length has no range on a log axis

import numpy as np
import pytest

from src.analysis.calibration import Bins
from src.reports.figures.reliability import draw_reliability


def test_filled_bins_with_intervals_and_counts() -> None:
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
    assert ends[0][:, 1] == pytest.approx([0.0456, 0.6994], abs=1e-4)  # Wilson, 1 of 4


def test_one_text() -> None:
    upper, _ = draw_reliability(Bins(np.array([0, 1]), np.array([0, 1]), np.array([np.nan, 0.8])), "val").axes
    assert [bar.get_height() for bar in upper.patches] == [1]

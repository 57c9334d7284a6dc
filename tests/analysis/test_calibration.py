import numpy as np
import pytest

from src.analysis.calibration import assign_bins, calibration_bins, calibration_error
from src.analysis.metrics import evaluate
from tests.reports.runs import predictions


def test_bins_include_their_lower_edge_and_the_last_includes_one() -> None:
    assert assign_bins(np.array([0.0, 0.24, 0.25, 0.74, 0.75, 1.0]), 4).tolist() == [0, 0, 1, 2, 3, 3]


def test_bins_by_hand() -> None:
    probabilities = np.array([[0.9, 0.1], [0.2, 0.8], [0.4, 0.6], [0.55, 0.45]])
    bins = calibration_bins(probabilities, np.array([0, 0, 1, 0]), bins=4)
    assert bins.count.tolist() == [0, 0, 2, 2]
    assert bins.correct.tolist() == [0, 0, 2, 1]
    np.testing.assert_allclose(bins.confidence, [np.nan, np.nan, 0.575, 0.85])
    assert calibration_error(bins) == pytest.approx((2 * (1 - 0.575) + 2 * (0.85 - 0.5)) / 4)


@pytest.mark.parametrize("classes", [2, 5])
def test_error_from_bins_equals_the_metric(classes: int) -> None:
    probabilities, labels = predictions(307, classes)
    error = calibration_error(calibration_bins(probabilities, labels))
    metrics = evaluate(probabilities, labels, [str(c) for c in range(classes)])
    assert error == pytest.approx(metrics["ece"].value, abs=1e-6)

import numpy as np
import pytest
import torch
from torchmetrics.functional.classification import multiclass_calibration_error

from src.terms.calibration import assign_bins, calibration_bins, calibration_error
from tests.report.runs import predictions


def test_bins_include_their_lower_edge_and_the_last_includes_one() -> None:
    assert assign_bins(np.array([0.0, 0.24, 0.25, 0.74, 0.75, 1.0]), 4).tolist() == [0, 0, 1, 2, 3, 3]


def test_calibration_bins_and_error_by_hand() -> None:
    probabilities = np.array([[0.9, 0.1], [0.2, 0.8], [0.4, 0.6], [0.55, 0.45]])
    bins = calibration_bins(probabilities, np.array([0, 0, 1, 0]), bins=4)
    assert bins.count.tolist() == [0, 0, 2, 2]
    assert bins.correct.tolist() == [0, 0, 2, 1]
    np.testing.assert_allclose(bins.confidence, [np.nan, np.nan, 0.575, 0.85])
    assert calibration_error(bins) == pytest.approx((2 * (1 - 0.575) + 2 * (0.85 - 0.5)) / 4)


@pytest.mark.parametrize("classes", [2, 5])
def test_the_calibration_error_equals_that_of_torchmetrics(classes: int) -> None:
    probabilities, labels = predictions(307, classes)
    error = calibration_error(calibration_bins(probabilities, labels))
    expected = multiclass_calibration_error(
        torch.from_numpy(probabilities), torch.from_numpy(labels), classes, n_bins=15
    )
    assert error == pytest.approx(expected.item(), abs=1e-6)

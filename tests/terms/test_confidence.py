"""The limits of the confidence on validation texts, on ten texts by hand."""

import numpy as np
import pytest

from heedful.tasks.score_intervals import wilson_interval
from heedful.terms.confidence import LIMITS, learn_from_validation, measure_limits
from tests.helpers import classified

CONFIDENCE = np.array([0.6, 0.95, 0.9, 0.85, 0.8, 0.8, 0.75, 0.7, 0.99, 0.55])
IS_RIGHT = np.array([0, 1, 1, 1, 1, 0, 1, 1, 1, 0], dtype=bool)


def test_the_limits_of_ten_texts() -> None:
    """From the highest confidence: 6 texts reach (0.8 + 0.75) / 2, of which one is wrong; two have the same."""
    predictions = classified(np.stack([CONFIDENCE, 1 - CONFIDENCE], 1), np.where(IS_RIGHT, 0, 1))
    limits = measure_limits(predictions)
    assert [limit.texts for limit in limits] == [1, 2, 3, 4, 6, 7, 8, 9, 10]
    assert [limit.wrong for limit in limits] == [0, 0, 0, 0, 1, 1, 1, 2, 3]
    assert [limit.confidence for limit in limits] == pytest.approx(
        [0.97, 0.925, 0.875, 0.825, 0.775, 0.725, 0.65, 0.575, 0.0]
    )
    assert limits[6].expected_error == pytest.approx(2 / 9)
    assert (limits[6].low, limits[6].high) == pytest.approx(wilson_interval(1, 8))


def test_many_texts_have_few_limits_and_the_last_is_all_texts() -> None:
    confidence = np.linspace(0.5, 1, 997)
    predictions = classified(np.stack([confidence, 1 - confidence], 1), np.zeros(997, dtype=int))
    limits = measure_limits(predictions)
    assert len(limits) == LIMITS and (limits[-1].texts, limits[-1].confidence) == (997, 0)


def test_the_temperature_comes_before_the_limits() -> None:
    probabilities, targets = np.tile([[0.99, 0.01]], (10, 1)), np.array([0] * 9 + [1])
    task = classified(probabilities, targets).task
    plain, calibrated = (learn_from_validation(task, probabilities, targets, None, choice) for choice in (False, True))
    assert plain.temperature == 1 and calibrated.temperature == pytest.approx(np.log(99) / np.log(9))  # type: ignore[attr-defined]
    assert plain.limits == calibrated.limits  # type: ignore[attr-defined]

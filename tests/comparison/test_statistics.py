"""Means over seeds and tests, compared with numbers computed by hand and on simulated seeds."""

import numpy as np
import pytest

from src.comparison.statistics import holm, mcnemar, mean_over_seeds

TRIALS = 300


def test_interval_over_seeds_by_hand() -> None:
    # mean 2.5, standard deviation 1.29099, t(3) = 3.18245: half = 3.18245 × 1.29099 / 2
    value, low, high = mean_over_seeds([1.0, 2.0, 3.0, 4.0])
    assert (value, low, high) == pytest.approx((2.5, 2.5 - 2.05426, 2.5 + 2.05426), abs=1e-5)


def test_one_seed_has_no_interval() -> None:
    assert mean_over_seeds([0.8]) == (0.8, None, None)


def test_interval_over_seeds_covers_the_expected_value() -> None:
    rng = np.random.default_rng(3)
    hits = [low <= 0 <= high for _ in range(TRIALS) for _, low, high in [mean_over_seeds(rng.normal(size=5))]]
    assert abs(np.mean(hits) - 0.95) < 3 * np.sqrt(0.95 * 0.05 / TRIALS)


@pytest.mark.parametrize(("seeds", "rate"), [(2, 0.93), (5, 0.88), (10, 0.86)])
def test_interval_over_seeds_covers_the_mean_of_other_seeds_less_often(seeds: int, rate: float) -> None:
    rng = np.random.default_rng(4)
    runs = rng.normal(size=(3 * TRIALS, 2, seeds))
    hits = [low <= others.mean() <= high for sample, others in runs for _, low, high in [mean_over_seeds(sample)]]
    assert np.mean(hits) == pytest.approx(rate, abs=3 * np.sqrt(rate * (1 - rate) / len(hits)))


def test_mcnemar_by_hand() -> None:
    """1 text is correct only in the first run and 9 only in the second: 2 × (1 + 10) / 2¹⁰."""
    first = np.array([True] * 5 + [True] * 1 + [False] * 9 + [False] * 2)
    second = np.array([True] * 5 + [False] * 1 + [True] * 9 + [False] * 2)
    assert mcnemar(first, second) == pytest.approx(22 / 1024)
    assert mcnemar(first, first) == 1.0


def test_holm_by_hand() -> None:
    # smallest first: .005 × 4, .01 × 3, .03 × 2, and .04 × 1, which may not be smaller than its predecessor
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([]) == []

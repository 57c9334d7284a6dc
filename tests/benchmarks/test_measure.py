"""Alternating measurements, and ratios."""

import pytest

from benchmarks.measure import Spread, ratios


def test_a_ratio_is_computed_for_each_round() -> None:
    assert ratios([6.0, 10.0, 9.0], [3.0, 2.0, 6.0]) == [2.0, 5.0, 1.5]
    with pytest.raises(ValueError):
        ratios([1.0], [1.0, 2.0])


def test_a_spread_has_the_median_and_the_range() -> None:
    assert Spread.of([5.0, 1.0, 2.0]) == (2.0, 1.0, 5.0)
    assert Spread.of([1.0, 2.0]).median == 1.5
    assert Spread.of([1234.6, 2.0, 5.04]).format(1) == "5.0 (2.0–1,234.6)"

"""The spread of several measurements."""

from benchmarks.measure import Spread


def test_a_spread_has_the_median_and_the_range() -> None:
    assert Spread.of([5.0, 1.0, 2.0]) == (2.0, 1.0, 5.0)
    assert Spread.of([1.0, 2.0]).median == 1.5
    assert Spread.of([1234.6, 2.0, 5.04]).format(1) == "5.0 (2.0–1,234.6)"

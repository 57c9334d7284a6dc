"""Alternating measurements, and ratios."""

import pytest

from benchmarks.measure import Spread, in_turn, ratios


def test_a_ratio_is_computed_for_each_round() -> None:
    assert ratios([6.0, 10.0, 9.0], [3.0, 2.0, 6.0]) == [2.0, 5.0, 1.5]
    with pytest.raises(ValueError):
        ratios([1.0], [1.0, 2.0])


def test_a_spread_has_the_median_and_the_range() -> None:
    assert Spread.of([5.0, 1.0, 2.0]) == (2.0, 1.0, 5.0)
    assert Spread.of([1.0, 2.0]).median == 1.5
    assert Spread.of([1234.6, 2.0, 5.04]).format(1) == "5.0 (2.0–1,234.6)"


def test_implementations_alternate_and_the_first_round_is_ignored() -> None:
    calls: list[tuple[str, int]] = []

    def reader(name: str, speed: float):  # type: ignore[no-untyped-def]
        def read(reviews: int) -> float:
            calls.append((name, reviews))
            return speed + len(calls)

        return read

    speeds = in_turn({"a": reader("a", 100.0), "b": reader("b", 1000.0)}, seconds=2.0, repeats=2)
    calibrated = [("a", 5), *(("a", 5 * 2**k) for k in range(6)), ("b", 5), *(("b", 5 * 2**k) for k in range(9))]
    a = [("a", 5), ("a", 214)]  # the reviews of two seconds at the measured speeds of 107 and 1,017 reviews/s
    b = [("b", 5), ("b", 2034)]
    assert calls == [*calibrated, *a, *b, *b, *a, *a, *b]
    assert speeds == {"a": [125.0, 127.0], "b": [1023.0, 1029.0]}

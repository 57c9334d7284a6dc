"""Measurements in turn, and their spread."""

import pytest

from benchmarks.measure import Spread, in_turn


def test_a_spread_has_the_median_and_the_range() -> None:
    assert Spread.of([5.0, 1.0, 2.0]) == (2.0, 1.0, 5.0)
    assert Spread.of([1.0, 2.0]).median == 1.5
    assert Spread.of([1234.6, 2.0, 5.04]).format(1) == "5.0 (2.0–1,234.6)"


def test_an_implementation_that_fails_is_left_out(capsys: pytest.CaptureFixture[str]) -> None:
    read = []

    def failing(reviews: int) -> float:
        read.append(reviews)
        if len(read) > 4:
            raise RuntimeError("CUDA error: unspecified launch failure\nmore")
        return 100.0

    speeds = in_turn({"failing": failing, "working": lambda reviews: 1000.0}, seconds=0.1, repeats=3)
    assert speeds == {"working": [1000.0] * 3}
    assert "failing failed: CUDA error: unspecified launch failure\n" in capsys.readouterr().err

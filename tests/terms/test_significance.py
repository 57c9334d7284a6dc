"""Tests of single runs and of several differences, compared with numbers computed by hand and with scipy."""

import numpy as np
import pytest
from scipy.stats import binomtest

from src.terms.intervals import Difference
from src.terms.significance import claim_verdict, difference_verdict, holm, mcnemar


def test_mcnemar_by_hand() -> None:
    """1 text is correct only in the first run and 9 only in the second: 2 × (1 + 10) / 2¹⁰."""
    first = np.array([True] * 5 + [True] * 1 + [False] * 9 + [False] * 2)
    second = np.array([True] * 5 + [False] * 1 + [True] * 9 + [False] * 2)
    assert mcnemar(first, second) == pytest.approx(22 / 1024)
    assert mcnemar(first, first) == 1.0


@pytest.mark.parametrize(("first", "second"), [(0, 3), (7, 7), (40, 61), (11, 10)])
def test_mcnemar_equals_scipys_binomial_test(first: int, second: int) -> None:
    correct = np.array([True] * first + [False] * second)
    assert mcnemar(correct, ~correct) == pytest.approx(binomtest(first, first + second).pvalue)


def test_holm_by_hand() -> None:
    # smallest first: .005 × 4, .01 × 3, .03 × 2, and .04 × 1, which may not be smaller than its predecessor
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([]) == []


@pytest.mark.parametrize(
    ("gain", "p", "seeds", "verdict"),
    [
        (0.1, 0.049, 5, "better"),
        (-0.1, 0.049, 5, "worse"),
        (0.1, 0.05, 5, "not significant"),
        (0.1, None, 5, "not significant"),
        (0.1, 0.001, 4, "exploratory"),
    ],
)
def test_verdicts_on_differences(gain: float, p: float | None, seeds: int, verdict: str) -> None:
    assert difference_verdict(gain, p, seeds) == verdict


@pytest.mark.parametrize(
    ("value", "high", "significant", "verdict"),
    [
        (-0.02, -0.01, True, "not supported"),
        (0.002, 0.004, True, "real but negligible"),
        (0.02, 0.03, True, "supported"),
        (0.001, 0.004, False, "not supported"),
        (0.02, 0.05, False, "inconclusive"),
    ],
)
def test_verdicts_on_claims(value: float, high: float, significant: bool, verdict: str) -> None:
    assert claim_verdict(Difference(value, value - 0.01, high, 0.5), significant, negligible=0.005) == verdict

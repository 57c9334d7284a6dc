"""Verdicts, McNemar's test, and Holm's adjustment of p-values.

Sources of the formulas, as cited below:

- McNemar 1947, Note on the sampling error of the difference between correlated proportions. Psychometrika 12(2).
- Holm 1979, A simple sequentially rejective multiple test procedure. Scandinavian Journal of Statistics 6(2).
"""

from collections.abc import Sequence
from typing import Literal

import numpy as np
from scipy.special import bdtr

from src.terms.intervals import LEVEL, Difference

MIN_SEEDS = 5  # minimum number of seeds for a verdict
Verdict = Literal["baseline", "better", "worse", "not significant", "exploratory"]
ClaimVerdict = Literal["supported", "real but negligible", "not supported", "inconclusive"]


def mcnemar(correct: np.ndarray, other_correct: np.ndarray) -> float:
    """Return the p-value of McNemar's exact test of the hypothesis that two runs have equal accuracy.

    Under this hypothesis, each text that only one run classifies correctly is equally likely to be classified correctly
    by the first or by the second run (McNemar 1947).

    Args:
        correct, other_correct: n bool, true for the texts that the first and the second run classify correctly.
    """
    first, second = int((correct & ~other_correct).sum()), int((other_correct & ~correct).sum())
    return min(1.0, 2 * float(bdtr(min(first, second), first + second, 0.5)))


def holm(p_values: Sequence[float]) -> list[float]:
    """Adjust m p-values (Holm 1979): at a threshold of 5 %, the probability of any false positive is at most 5 %.

    The adjusted value of the i-th smallest p-value is the maximum over j ≤ i of min(1, (m - j + 1) · p_j), where
    p_j is the j-th smallest p-value.
    """
    p = np.asarray(p_values, dtype=np.float64)
    order = np.argsort(p, kind="stable")
    adjusted = np.empty_like(p)
    adjusted[order] = np.minimum(1.0, np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1)))
    return adjusted.tolist()


def difference_verdict(gain: float, p_adjusted: float | None, seeds: int) -> Verdict:
    """Return the verdict on a difference.

    Args:
        gain: the difference, positive if the variant is better.
        p_adjusted: p-value after Holm's adjustment; None if there was no test.
        seeds: number of seeds of the variant or of the baseline, whichever has fewer.
    """
    if seeds < MIN_SEEDS:
        return "exploratory"
    if p_adjusted is None or p_adjusted >= LEVEL:
        return "not significant"
    return "better" if gain > 0 else "worse"


def claim_verdict(difference: Difference, significant: bool, negligible: float | None) -> ClaimVerdict:
    """Return the verdict on a claim for which all variants have enough seeds and no pair contradicts the mean."""
    if significant and difference.value < 0:
        return "not supported"
    is_negligible = negligible is not None and difference.high is not None and difference.high < negligible
    if significant:
        return "real but negligible" if is_negligible else "supported"
    return "not supported" if is_negligible else "inconclusive"

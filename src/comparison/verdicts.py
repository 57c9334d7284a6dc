"""The verdicts on differences from the baseline and on claims."""

from typing import Literal

from src.comparison.statistics import LEVEL, MIN_SEEDS
from src.comparison.two_level_bootstrap import Difference

Verdict = Literal["baseline", "better", "worse", "not significant", "exploratory"]
ClaimVerdict = Literal["supported", "real but negligible", "not supported", "inconclusive"]


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

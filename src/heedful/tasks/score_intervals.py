"""The intervals of scores: how bounds follow from the terms of a score, and whether differences of it can be tested.

Sources of the formulas, as cited below:

- Student 1908, The probable error of a mean. Biometrika 6(1).
- Fisher 1921, On the "probable error" of a coefficient of correlation deduced from a small sample. Metron 1.
- MacKinnon, Nielsen and Webb 2023, Fast and reliable jackknife and bootstrap methods for cluster-robust inference.
  Journal of Applied Econometrics 38(5).
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from statistics import NormalDist
from typing import NamedTuple

import numpy as np

LEVEL = 0.05
QUANTILE = NormalDist().inv_cdf(1 - LEVEL / 2)
ROUNDING = 1e-12  # a smaller part of the largest term is a rounding error
BINS = 15  # bins of the calibration error
Bounds = tuple[float, float] | None


class Scored(NamedTuple):
    """The terms of n texts, and from what they were computed."""

    terms: np.ndarray
    groups: np.ndarray | None
    probabilities: np.ndarray  # n×C
    labels: np.ndarray


class Scale(NamedTuple):
    """A scale on which a score has no ends: a function of the score, its derivative, and its inverse."""

    to: Callable[[float], float]
    slope: Callable[[float], float]
    back: Callable[[float], float]


LINEAR = Scale(float, lambda _: 1.0, float)
LOGIT = Scale(lambda p: math.log(p / (1 - p)), lambda p: 1 / (p * (1 - p)), lambda z: (1 + math.tanh(z / 2)) / 2)
FISHER = Scale(math.atanh, lambda r: 1 / (1 - r * r), math.tanh)  # Fisher 1921
LOGARITHM = Scale(math.log, lambda x: 1 / x, lambda z: math.exp(min(z, 700.0)))


@dataclass(frozen=True)
class MeanInterval:
    """Student's t interval of the mean of the terms, symmetric on a scale.

    Args:
        lost: degrees of freedom of what the terms estimate beside the score, such as two means.
    """

    scale: Scale = LINEAR
    lost: int = 0
    untested = ""  # why differences have no interval

    def freedom(self, rarest: int) -> float:
        """Return the largest number of degrees of freedom of the variance over texts; 0 if it cannot be estimated.

        Args:
            rarest: the number of texts (or groups) of the rarest class, or without it if these are fewer.
        """
        return math.inf

    def ddof(self, texts: Scored) -> int:
        """Return what the divisor of the sum of squares is below the number of texts (or groups)."""
        return 1 + self.lost

    def bounds(self, texts: Scored, freedom: float) -> Bounds:
        """Return the 95 % interval of the mean of the terms; None if they do not show how much it varies."""
        units, value = join_groups(texts.terms, texts.groups), float(texts.terms.mean())
        freedom = min(freedom, len(units) - 1 - self.lost)
        if freedom < 1 or not vary(units):
            return None
        error = float(units.std(ddof=self.ddof(texts))) / math.sqrt(len(units))
        try:
            middle, half = self.scale.to(value), student_quantile(freedom) * error * self.scale.slope(value)
        except (ValueError, ZeroDivisionError):  # an end of the scale
            return None
        return self.scale.back(middle - half), self.scale.back(middle + half)


@dataclass(frozen=True)
class AreaInterval(MeanInterval):
    """The interval of an area between 0 and 1 under a curve of ranks (DeLong et al. 1988; Pepe 2003, section 5.2).

    Its error is uncertain if a class is rare, so that the texts of the rarest side are the degrees of freedom.
    """

    scale: Scale = LOGIT

    def freedom(self, rarest: int) -> float:
        return rarest - 1.0

    def ddof(self, texts: Scored) -> int:
        return 0 if texts.groups is None else 1  # the terms have the divisors of their sides


class ShareInterval(MeanInterval):
    """The interval of a share of the texts, of which terms are 0 or 1 (Wilson 1927; Korn and Graubard 1998)."""

    def bounds(self, texts: Scored, freedom: float) -> Bounds:
        return share_bounds(texts.terms, texts.groups)


class CalibrationInterval(MeanInterval):
    """The interval of a sum of absolute gaps, whose noise is not normal."""

    untested = "because their noise is not normal"

    def freedom(self, rarest: int) -> float:
        return 0.0

    def bounds(self, texts: Scored, freedom: float) -> Bounds:
        if texts.groups is not None or not vary(texts.terms):
            return None
        return calibration_interval(texts.probabilities.astype(np.float64).clip(0, 1), texts.labels)


def vary(values: np.ndarray) -> bool:
    """Return whether n numbers differ by more than rounding errors."""
    return len(values) > 1 and bool(np.ptp(values) > ROUNDING * np.abs(values).max())


def share_bounds(hits: np.ndarray, groups: np.ndarray | None) -> Bounds:
    """Return the interval of the share of hits; groups count as as many independent texts as would vary as much.

    This is the interval of Korn and Graubard (1998) with Wilson's formula. If all hits are equal, the groups count.
    """
    n, p, quantile = float(len(hits)), float(hits.mean()), QUANTILE
    if groups is not None:
        units = join_groups(hits.astype(np.float64), groups)
        if len(units) == 1:
            return None
        variance, quantile = float(units.var(ddof=1)) / len(units), student_quantile(len(units) - 1)
        n = min(n, p * (1 - p) / variance) if 0 < p < 1 and variance > 0 else float(len(units))
    return wilson_interval(float(hits.sum()) if groups is None else p * n, n, quantile)


def join_groups(terms: np.ndarray, groups: np.ndarray | None) -> np.ndarray:
    """Return terms of G groups with the same mean, …×n → …×G; without groups, the terms.

    Their variance divided by G is that of the jackknife which leaves out a group (MacKinnon et al. 2023, CV3J). For
    groups of the same size, it is G / (G - 1) times the sum over groups of the squared sums of (term - mean), over n².
    """
    if groups is None:
        return terms
    order = np.argsort(groups, kind="stable")
    _, starts, sizes = np.unique(groups[order], return_index=True, return_counts=True)
    mean = terms.mean(-1, keepdims=True)
    sums = np.add.reduceat((terms - mean)[..., order], starts, axis=-1)
    changes = (len(sizes) - 1) * sums / np.maximum(len(groups) - sizes, 1)
    return np.asarray(mean + changes - changes.mean(-1, keepdims=True))


def student_quantile(freedom: float, level: float = LEVEL) -> float:
    """Return the half-width, in standard errors, of the interval with the coverage 1 - level (Student 1908)."""
    from scipy.special import stdtrit  # slow; scipy.stats takes a second

    return float(stdtrit(freedom, 1 - level / 2))


def wilson_interval(count: float, n: float, quantile: float = QUANTILE) -> tuple[float, float]:
    """Return the 95 % interval of a proportion (Wilson 1927).

    Args:
        count: number of successes, 0 to n.
        n: number of trials, above 0.
        quantile: of the standard normal distribution, or of Student's t if n is estimated.
    """
    p, extra = count / n, quantile**2 / n
    centre, half = p + extra / 2, quantile * math.sqrt(p * (1 - p) / n + extra / (4 * n))
    low, high = (centre - half) / (1 + extra), (centre + half) / (1 + extra)
    return (0.0 if count == 0 else low), (1.0 if count == n else high)


def confidence_bins(confidence: np.ndarray) -> np.ndarray:
    """Return the index m of the bin [m/15, (m+1)/15) of each confidence, n → n; the last bin includes 1."""
    return (np.searchsorted(np.linspace(0, 1, BINS + 1), confidence, side="right") - 1).clip(0, BINS - 1)


def calibration_interval(probabilities: np.ndarray, labels: np.ndarray) -> tuple[float, float]:
    """Return the 95 % interval of the calibration error over 15 bins.

    The error is the sum of the bins' absolute gaps, whose noise biases it upwards. The gap of a bin is approximately
    normal around the true gap, so its absolute value has a folded normal distribution (Leone et al. 1961). The interval
    is value - bias ± 1.96 standard deviations of this sum, but contains the value. It extends to 0 if a perfectly
    calibrated model would exceed the value in 2.5 % of cases or more.
    """
    confidence = probabilities.max(1)
    gaps = confidence - (probabilities.argmax(1) == labels)
    n, bins = len(labels), confidence_bins(confidence)
    size = np.maximum(np.bincount(bins), 1)
    gap = np.bincount(bins, gaps) / n
    spread = np.sqrt(np.maximum(np.bincount(bins, gaps**2) - np.bincount(bins, gaps) ** 2 / size, 0)) / n
    calibrated_spread = np.sqrt(np.bincount(bins, confidence * (1 - confidence))) / n
    value, (mean, deviation) = float(np.abs(gap).sum()), _folded_normal(gap, spread)
    calibrated_mean, calibrated_deviation = _folded_normal(np.zeros(len(gap)), calibrated_spread)
    unbiased, half = 2 * value - mean, QUANTILE * deviation
    is_calibrated = value <= calibrated_mean + QUANTILE * calibrated_deviation
    return (0.0 if is_calibrated else min(value, unbiased - half)), max(value, unbiased + half)


def _folded_normal(mean: np.ndarray, deviation: np.ndarray) -> tuple[float, float]:
    """Return the mean and the standard deviation of Σ |x| for independent normal x."""
    from scipy.special import ndtr  # slow

    ratio = np.abs(mean) / np.maximum(deviation, 1e-300)
    folded = deviation * math.sqrt(2 / math.pi) * np.exp(-(np.minimum(ratio, 1e3) ** 2) / 2)
    folded += np.abs(mean) * (1 - 2 * ndtr(-ratio))
    return float(folded.sum()), math.sqrt(max(0.0, float((mean**2 + deviation**2 - folded**2).sum())))

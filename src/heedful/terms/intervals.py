"""Intervals and tests in closed form, for means of texts or seeds, and for differences between variants.

Sources of the formulas, as cited below:

- Student 1908, The probable error of a mean. Biometrika 6(1).
- Holm 1979, A simple sequentially rejective multiple test procedure. Scandinavian Journal of Statistics 6(2).
- Satterthwaite 1946, An approximate distribution of estimates of variance components. Biometrics Bulletin 2(6).
- Nadeau and Bengio 2003, Inference for the generalization error. Machine Learning 52(3).
- Owen 2007, The pigeonhole bootstrap. Annals of Applied Statistics 1(2).
- MacKinnon, Nielsen and Webb 2023, Fast and reliable jackknife and bootstrap methods for cluster-robust inference.
  Journal of Applied Econometrics 38(5).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import NamedTuple

import numpy as np
from scipy.special import chdtri, ndtr, stdtr, stdtrit  # scipy.stats takes a second to import

from heedful.runs.run_files import Predictions
from heedful.tasks.scores import confidence_bins
from heedful.tasks.task import MIN_TEXTS

LEVEL = 0.05
MIN_SEEDS = 5  # minimum number of seeds for a verdict
QUANTILE = NormalDist().inv_cdf(1 - LEVEL / 2)
SMALLEST_ERROR = 1e-12  # a smaller standard error is a rounding error


class Interval(NamedTuple):
    """A value with its interval, and a test of the hypothesis that the value is zero.

    The bounds are None if they cannot be estimated, for example from one seed. The two-sided p-value is None without a
    test; for a difference without any variance, it is 1 for scores by text, and None for others.
    """

    value: float
    low: float | None = None
    high: float | None = None
    p_value: float | None = None


@dataclass(frozen=True, eq=False)
class Sample:
    """The terms of a variant's score, for each seed and text.

    Args:
        scores: S×n, the terms of n texts under S seeds; S×1 for a statistic of a run without terms.
        seeds: the S seeds; variants with the same seed share its random state. None if the seeds are not shared.
        folds: n, the fold that contains each text in a cross-validation; None without cross-validation.
        groups: n, the group of each text, if texts of the same group depend on each other; a group is in one fold.
        freedom: the largest number of degrees of freedom of the variance over texts; 0 if it cannot be estimated.
    """

    scores: np.ndarray
    seeds: tuple[int, ...] | None = None
    folds: np.ndarray | None = None
    groups: np.ndarray | None = None
    freedom: float = math.inf

    @property
    def by_seed(self) -> np.ndarray:
        """The score of each seed, S."""
        return self.scores.mean(1)

    def select(self, texts: np.ndarray) -> "Sample":
        """Return the sample of some of the texts, given as n booleans."""
        folds, groups = (None if each is None else each[texts] for each in (self.folds, self.groups))
        return Sample(self.scores[:, texts], self.seeds, folds, groups, self.freedom)

    @property
    def units(self) -> np.ndarray:
        """The terms of each text, S×n, or of each group, S×G, or in a cross-validation the means of each fold, S×k."""
        if self.folds is None or self.groups is not None:  # folds of groups differ in their numbers of texts
            return join_groups(self.scores, self.groups if self.folds is None else self.folds)
        return np.stack([self.scores[:, self.folds == fold].mean(1) for fold in np.unique(self.folds)], axis=1)


def sample_score(
    name: str,
    predictions: Sequence[Predictions],
    seeds: tuple[int, ...] | None = None,
    folds: np.ndarray | None = None,
) -> Sample | None:
    """Return the terms of a score for the predictions of each seed; None if the score is undefined for a seed.

    The variance over texts has m - 1 degrees of freedom for AUROC, where m is the number of texts (or groups) of the
    rarest class. It cannot be estimated for the calibration error, whose noise is not normal, nor for a score that is
    averaged over classes if one of them has fewer than MIN_TEXTS texts (or groups).
    """
    terms = [of_seed for each in predictions if (of_seed := each.terms(name)) is not None]
    if not terms or len(terms) < len(predictions):
        return None
    _, _, labels, task, _, groups = predictions[0]
    rarest = task.class_counts(labels, groups).min(initial=len(labels))
    freedom = float(rarest - 1) if name == "auroc" else math.inf
    if name == "ece" or (task.scores[name].is_by_class and rarest < MIN_TEXTS):
        freedom = 0.0
    return Sample(np.stack(terms), seeds, folds, groups, freedom)


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


def mean_of_terms(terms: Sequence[float] | np.ndarray) -> Interval:
    """Return the mean of n independent values with its interval; without bounds if the values are all equal.

    The interval is mean ± t · s / √n, where s is the standard deviation and t a quantile of Student's t with n - 1
    degrees of freedom (Student 1908). For the scores of S seeds, it is the interval for the mean over all possible
    seeds, not for the mean over S other seeds, which varies too (docs/comparing.md).
    """
    values = np.asarray(terms, dtype=np.float64)
    n, mean = len(values), float(values.mean())
    error = float(values.std(ddof=1)) / np.sqrt(n) if n > 1 else 0.0
    if error < SMALLEST_ERROR:
        return Interval(mean)
    half = student_quantile(n - 1) * error
    return Interval(mean, mean - half, mean + half)


def student_quantile(freedom: float, level: float = LEVEL) -> float:
    """Return the half-width, in standard errors, of the interval with the coverage 1 - level (Student 1908)."""
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


def area_interval(area: float, error: float, freedom: float) -> tuple[float, float]:
    """Return the 95 % interval of an area under the ROC curve with this standard error (DeLong et al. 1988).

    The interval is symmetric in the logit of the area, so that it ends between 0 and 1 (Pepe 2003, section 5.2). Its
    quantile is that of Student's t, because the error is uncertain if a class is rare.
    """
    if not 0 < area < 1:
        return area, area
    logit, half = math.log(area / (1 - area)), student_quantile(freedom) * error / (area * (1 - area))
    return 1 / (1 + math.exp(half - logit)), 1 / (1 + math.exp(-half - logit))


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
    ratio = np.abs(mean) / np.maximum(deviation, 1e-300)
    folded = deviation * math.sqrt(2 / math.pi) * np.exp(-(np.minimum(ratio, 1e3) ** 2) / 2)
    folded += np.abs(mean) * (1 - 2 * ndtr(-ratio))
    return float(folded.sum()), math.sqrt(max(0.0, float((mean**2 + deviation**2 - folded**2).sum())))


def holm(p_values: Sequence[float | None]) -> list[float | None]:
    """Adjust m p-values (Holm 1979): at a threshold of 5 %, the probability of any false positive is at most 5 %.

    The adjusted value of the i-th smallest p-value is the maximum over j ≤ i of min(1, (m - j + 1) · p_j), where
    p_j is the j-th smallest p-value. None stands for a difference without a test, which does not count.
    """
    ascending = sorted((p_value, number) for number, p_value in enumerate(p_values) if p_value is not None)
    scaled = np.array([p_value for p_value, _ in ascending]) * np.arange(len(ascending), 0, -1)
    values = np.minimum(1.0, np.maximum.accumulate(scaled)).tolist()
    adjusted = {number: value for (_, number), value in zip(ascending, values, strict=True)}
    return [adjusted.get(number) for number in range(len(p_values))]


class _Variance(NamedTuple):
    """A part of the variance of a weighted sum of scores, with its share of the degrees of freedom."""

    estimate: float
    bound: float  # estimate, or an upper confidence bound
    squared: float = 0.0  # squared bound / degrees of freedom


def estimate(weighted: Sequence[tuple[float, Sample]], level: float = LEVEL) -> Interval:
    """Estimate the sum of weight × score over variants, with its interval over texts and seeds.

    The interval is value ± t · e, and the test statistic value / e, where e² is the sum of the variances v below;
    Student's t has Satterthwaite's (1946) degrees of freedom (Σ v)² / Σ (v² / f). docs/comparing.md gives the reasons,
    and the rates of false positives.

    - Texts: the weighted sum has a value for each of the n texts, averaged over seeds; their variance divided by n.
    - Groups, instead of texts if texts of the same group depend on each other: the weighted sum has a value for each of
      the G groups (`join_groups`); f = G - 1.
    - Folds, instead of texts in a cross-validation: (1/k + 1/(k - 1)) s² with f = k - 1, where s² is the variance of
      the means of the k folds (Nadeau and Bengio 2003; 1/(k - 1) is n_test/n_train).
    - Seeds: the variance between seeds, to which a seed contributes the sum over all variants that have it, less the
      variance of the interaction of seed and text, which the texts also contain (Owen 2007). For f, v is its upper 75 %
      confidence bound, because the estimate is often too small if the test statistic is large.

    A variant with one seed adds no variance between seeds, so the result applies only to its one trained model; the
    difference from a variant with several seeds has no p-value. If the degrees of freedom are below 1, as they may be
    with two seeds, there are neither bounds nor a p-value.

    Each sample occurs once. The coverage of the interval is 1 - `level`.
    """
    value = float(sum(weight * sample.by_seed.mean() for weight, sample in weighted))
    of_several = [(weight, sample) for weight, sample in weighted if len(sample.scores) > 1]
    parts = [_seed_variance(group) for group in _group_by_shared_seeds(of_several)]
    profile = np.sum([weight * sample.units.mean(0) for weight, sample in weighted], axis=0)
    n, first, of_units = len(profile), weighted[0][1], min(sample.freedom for _, sample in weighted)
    if first.folds is not None or first.groups is not None:  # texts are many
        of_units = min(of_units, n - 1)
    if n > 1:
        spread = float(profile.var(ddof=1))
        variance = spread / n if first.folds is None else (1 / n + 1 / (n - 1)) * spread
        parts.append(_Variance(variance, variance, variance**2 / of_units if of_units else math.inf))
    error = float(np.sqrt(sum(part.estimate for part in parts)))
    if error < SMALLEST_ERROR:  # identical predictions, or run statistics that do not vary by seed
        return Interval(value, p_value=1.0 if n > 1 else None)
    squared = sum(part.squared for part in parts)
    freedom = min(sum(part.bound for part in parts) ** 2 / squared, 1e9) if squared > 0 else 1e9  # stdtrit(inf) is NaN
    if min(freedom, of_units) < 1:
        return Interval(value)
    half = student_quantile(freedom, level) * error
    are_comparable = len(of_several) in (0, len(weighted))  # not several seeds with one trained model
    p_value = float(2 * stdtr(freedom, -abs(value) / error)) if are_comparable else None
    return Interval(value, value - half, value + half, p_value)


def _group_by_shared_seeds(weighted: Sequence[tuple[float, Sample]]) -> list[list[tuple[float, Sample]]]:
    """Group samples that share a seed with each other, directly or through other samples."""
    groups: list[list[tuple[float, Sample]]] = []
    for pair in weighted:
        seeds = set(pair[1].seeds or ())
        connected = [group for group in groups if any(seeds & set(sample.seeds or ()) for _, sample in group)]
        groups = [group for group in groups if group not in connected]
        groups.append([*(member for group in connected for member in group), pair])
    return groups


def _seed_variance(group: Sequence[tuple[float, Sample]]) -> _Variance:
    """Return the variance of the sum of weight × mean between seeds, without the part due to the interaction.

    The variance is the sum of the squared contributions of the seeds, unbiased if all samples have the same seeds.
    The interaction is Σ r² / (n (n - 1)) over the residuals r of seeds and texts.
    """
    seeds_of_samples: list[Sequence[int]] = [sample.seeds or range(len(sample.scores)) for _, sample in group]
    rows = {seed: row for row, seed in enumerate(dict.fromkeys(seed for seeds in seeds_of_samples for seed in seeds))}
    n = group[0][1].units.shape[1]
    contributions, residuals = np.zeros(len(rows)), np.zeros((len(rows), n))
    for seeds, (weight, sample) in zip(seeds_of_samples, group, strict=True):
        indices, units = [rows[seed] for seed in seeds], sample.units
        scale = weight / np.sqrt(len(indices) * (len(indices) - 1))
        of_seed = sample.by_seed - sample.by_seed.mean()
        contributions[indices] += scale * of_seed
        residuals[indices] += scale * (units - units.mean(0) - units.mean(1, keepdims=True) + units.mean())
    variance, interaction = float((contributions**2).sum()), float((residuals**2).sum() / max(1, n * (n - 1)))
    freedom = min(len(sample.scores) for _, sample in group) - 1
    estimate = max(0.0, variance - interaction)
    margin = (freedom / float(chdtri(freedom, 0.75)) - 1) * estimate
    # the subtraction of the interaction does not make an estimate more certain
    return _Variance(estimate, estimate + margin, (variance + margin) ** 2 / freedom)

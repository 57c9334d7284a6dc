"""Intervals and tests in closed form, for means of texts or seeds, and for differences between variants.

Sources of the formulas, as cited below:

- Holm 1979, A simple sequentially rejective multiple test procedure. Scandinavian Journal of Statistics 6(2).
- Satterthwaite 1946, An approximate distribution of estimates of variance components. Biometrics Bulletin 2(6).
- Nadeau and Bengio 2003, Inference for the generalization error. Machine Learning 52(3).
- Owen 2007, The pigeonhole bootstrap. Annals of Applied Statistics 1(2).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from scipy.special import chdtri, stdtr  # scipy.stats takes a second to import

from heedful.runs.run_files import Predictions
from heedful.tasks.score_intervals import LEVEL, ROUNDING, join_groups, student_quantile, vary
from heedful.tasks.task import MIN_TEXTS

MIN_SEEDS = 5  # minimum number of seeds for a verdict
# Models of different folds share most of their training texts, so that their scores vary together: measured on folds,
# the root mean square of error / standard error over texts is 1.21.
FOLD_VARIANCE = 1.5


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
        ends: the lowest and highest possible score.
    """

    scores: np.ndarray
    seeds: tuple[int, ...] | None = None
    folds: np.ndarray | None = None
    groups: np.ndarray | None = None
    freedom: float = math.inf
    ends: tuple[float, float] = (-math.inf, math.inf)

    @property
    def mean(self) -> Interval:
        """The mean over the seeds with its interval, which ends where the score ends."""
        value, low, high, _ = mean_of_terms(self.by_seed)
        if low is None or high is None:
            return Interval(value)
        return Interval(value, max(low, self.ends[0]), min(high, self.ends[1]))

    @property
    def by_seed(self) -> np.ndarray:
        """The score of each seed, S."""
        return self.scores.mean(1)

    def select(self, texts: np.ndarray) -> "Sample":
        """Return the sample of some of the texts, given as n booleans."""
        folds, groups = (None if ids is None else ids[texts] for ids in (self.folds, self.groups))
        return Sample(self.scores[:, texts], self.seeds, folds, groups, self.freedom, self.ends)

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

    The variance over texts has the degrees of freedom of the score's interval. It cannot be estimated for a score that
    is averaged over classes if one of them has fewer than MIN_TEXTS texts (or groups).
    """
    terms = [of_seed for of_run in predictions if (of_seed := of_run.terms(name)) is not None]
    if not terms or len(terms) < len(predictions):
        return None
    labels, task, groups = predictions[0].labels, predictions[0].task, predictions[0].groups
    score, rarest = task.scores[name], task.class_counts(labels, groups).min(initial=len(labels))
    is_rare = score.is_by_class and rarest < MIN_TEXTS
    freedom = 0.0 if is_rare else score.interval.freedom(task.rarest_side(labels, groups))
    return Sample(np.stack(terms), seeds, folds, groups, freedom, (score.low, score.high))


def mean_of_terms(terms: Sequence[float] | np.ndarray) -> Interval:
    """Return the mean of n independent values with its interval; without bounds if the values are all equal.

    The interval is mean ± t · s / √n, where s is the standard deviation and t a quantile of Student's t with n - 1
    degrees of freedom (Student 1908). For the scores of S seeds, it is the interval for the mean over all possible
    seeds, not for the mean over S other seeds, which varies too (docs/comparing.md).
    """
    values = np.asarray(terms, dtype=np.float64)
    n, mean = len(values), float(values.mean())
    if not vary(values):
        return Interval(mean)
    half = student_quantile(n - 1) * float(values.std(ddof=1)) / np.sqrt(n)
    return Interval(mean, mean - half, mean + half)


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


def estimate_over_texts(weighted: Sequence[tuple[float, Sample]]) -> Interval:
    """Estimate the sum of a cross-validation as `estimate` does, but over texts: their variance × FOLD_VARIANCE."""
    return estimate([(weight, replace(sample, folds=None)) for weight, sample in weighted], inflation=FOLD_VARIANCE)


def estimate(weighted: Sequence[tuple[float, Sample]], level: float = LEVEL, inflation: float = 1.0) -> Interval:
    """Estimate the sum of weight × score over variants, with its interval over texts and seeds.

    The interval is value ± t · e, and the test statistic value / e, where e² is the sum of the variances v below;
    Student's t has Satterthwaite's (1946) degrees of freedom (Σ v)² / Σ (v² / f). docs/comparing.md gives the reasons,
    and the rates of false positives.

    - Texts: the weighted sum has a value for each of the n texts, averaged over seeds; their variance divided by n;
      f = n - 1, or less if the score says so (`Sample.freedom`).
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

    Each sample occurs once. The coverage of the interval is 1 - `level`; `inflation` scales the variance over texts.
    """
    value = float(sum(weight * sample.by_seed.mean() for weight, sample in weighted))
    of_several = [(weight, sample) for weight, sample in weighted if len(sample.scores) > 1]
    parts = [_seed_variance(group) for group in _group_by_shared_seeds(of_several)]
    profile = np.sum([weight * sample.units.mean(0) for weight, sample in weighted], axis=0)
    n, first = len(profile), weighted[0][1]
    of_units = min(sample.freedom for _, sample in weighted)
    if n > 1:
        of_units = min(of_units, n - 1)
        spread = float(profile.var(ddof=1))
        variance = inflation * spread / n if first.folds is None else (1 / n + 1 / (n - 1)) * spread
        parts.append(_Variance(variance, variance, variance**2 / of_units if of_units else math.inf))
    error = float(np.sqrt(sum(part.estimate for part in parts)))
    largest = max(float(np.abs(sample.scores).max()) for _, sample in weighted)
    if error <= ROUNDING * largest:  # identical predictions, or run statistics that do not vary by seed
        return Interval(value, p_value=1.0 if n > 1 else None)
    squared = sum(part.squared for part in parts)
    freedom = min(sum(part.bound for part in parts) ** 2 / squared, 1e9) if squared > 0 else 1e9  # stdtrit(inf) is NaN
    if min(freedom, of_units) < 1:
        return Interval(value)
    half = student_quantile(freedom, level) * error
    are_comparable = len(of_several) in (0, len(weighted))  # not several seeds with one trained model
    p_value = float(2 * stdtr(freedom, -abs(value) / error)) if are_comparable else None
    low = sum(weight * sample.ends[weight < 0] for weight, sample in weighted)
    high = sum(weight * sample.ends[weight > 0] for weight, sample in weighted)
    return Interval(value, max(low, value - half), min(high, value + half), p_value)


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

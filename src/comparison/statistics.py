"""Means over seeds, differences under a two-level bootstrap, and tests."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.stats import t as student

RESAMPLES = 2000
CELLS = 5_000_000  # texts drawn at one time
LEVEL = 0.05
ENOUGH = 5  # seeds; what fewer show is exploratory


class Interval(NamedTuple):
    """A value and its 95 % interval; low and high are None where the runs cannot tell, as those of one seed."""

    value: float
    low: float | None
    high: float | None


class Sample(NamedTuple):
    """A variant's score under every seed, and under resampled texts."""

    seeds: np.ndarray  # S, the score of each run
    texts: np.ndarray | None  # deviation of its mean over seeds in each of the RESAMPLES; None: no texts behind it
    noise: float  # variance of the mean over seeds that is of neither the seeds nor the texts


class Difference(NamedTuple):
    """A weighted sum of variants' scores."""

    value: float
    low: float | None
    high: float | None
    p_value: float | None  # two-sided, of no difference

    @property
    def interval(self) -> Interval:
        return Interval(self.value, self.low, self.high)


def over_seeds(values: Sequence[float]) -> Interval:
    """Mean of S runs and where other seeds' means would lie: Student's t with S - 1 degrees of freedom."""
    count, mean = len(values), float(np.mean(values))
    if count < 2:
        return Interval(mean, None, None)
    half = float(student.ppf(1 - LEVEL / 2, count - 1) * np.std(values, ddof=1) / np.sqrt(count))
    return Interval(mean, mean - half, mean + half)


def samples(values: Sequence[np.ndarray], seed: int = 0) -> list[Sample]:
    """Variants' scores, S×n each: S may differ, the n texts are the same, and so are their resamples."""
    profiles = np.stack([held.mean(0) for held in values])  # V×n
    drawn = _resampled(profiles, np.random.default_rng(seed)) - profiles.mean(1)  # B×V
    return [Sample(held.mean(1), drawn[:, at], _noise(held)) for at, held in enumerate(values)]


def difference(terms: Sequence[tuple[float, Sample]], seed: int = 0) -> Difference:
    """Sum of weight × score over variants, by a two-level bootstrap of seeds and texts.

    Each resample draws texts, the same for all runs (so that variants are compared on the same texts), and for each
    variant S - 1 of its S seeds (S of them would fall short of the variance by 1/S: Rao and Wu 1988). What is of
    single answers alone (this seed, this text) shows in both levels; it is taken off the seeds' (Owen 2007). The
    resamples' standard deviation with Student's t gives interval and p-value, since percentiles of five seeds
    are too narrow; degrees of freedom after Satterthwaite (1946).

    A variant of one seed adds no uncertainty of the seeds: the result then holds for that trained model alone.
    """
    rng = np.random.default_rng(seed)
    value = float(sum(weight * sample.seeds.mean() for weight, sample in terms))
    with_texts = [weight * sample.texts for weight, sample in terms if sample.texts is not None]
    resampled = np.sum(with_texts, axis=0) if with_texts else np.zeros(RESAMPLES)
    shaky = 0.0  # sum of variance² / degrees of freedom; the texts, being many, add none
    for weight, (seeds, _, noise) in terms:
        count = len(seeds)
        if count < 2:
            continue
        variance = float(seeds.var(ddof=1)) / count
        kept = np.sqrt(max(0.0, 1 - noise / variance)) if variance > 0 else 0.0
        drawn = seeds[rng.integers(0, count, (RESAMPLES, count - 1))].mean(1) - seeds.mean()
        resampled = resampled + weight * kept * drawn
        shaky += (weight**2 * variance) ** 2 / (count - 1)
    error = float(resampled.std())
    if error < 1e-12:  # the same answers, which resampling cannot make differ; or of no texts, runs all alike
        return Difference(value, None, None, 1.0 if with_texts else None)
    freedom = error**4 / shaky if shaky > 0 else np.inf
    half = float(student.ppf(1 - LEVEL / 2, freedom)) * error
    return Difference(value, value - half, value + half, float(2 * student.sf(abs(value) / error, freedom)))


def mcnemar(ours: np.ndarray, theirs: np.ndarray) -> float:
    """p-value of McNemar's exact test: do two runs get equally many of the texts right that only one of them does?

    Args:
        ours, theirs: n bool, which texts each gets right.
    """
    from statsmodels.stats.contingency_tables import mcnemar as test

    table = [[int((a & b).sum()) for b in (theirs, ~theirs)] for a in (ours, ~ours)]
    return float(test(table, exact=True).pvalue)


def holm(p_values: Sequence[float]) -> list[float]:
    """Adjusted p-values (Holm 1979): judged at 5 % each, the chance of any false finding among them is 5 %."""
    from statsmodels.stats.multitest import multipletests

    return multipletests(p_values, LEVEL, "holm")[1].tolist() if p_values else []


def _resampled(profiles: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Means of resampled texts: V×n → RESAMPLES×V."""
    n = profiles.shape[1]
    step = max(1, CELLS // n)
    means = []
    for start in range(0, RESAMPLES, step):
        times = min(step, RESAMPLES - start)
        cells = rng.integers(0, n, (times, n)) + n * np.arange(times)[:, None]
        counts = np.bincount(cells.ravel(), minlength=times * n).reshape(times, n)
        means.append(counts @ profiles.T / n)
    return np.concatenate(means)


def _noise(values: np.ndarray) -> float:
    """Variance of the grand mean that comes from the interaction of seeds and texts, S×n (two-way layout)."""
    count, n = values.shape
    if count < 2 or n < 2:
        return 0.0
    rest = values - values.mean(0) - values.mean(1, keepdims=True) + values.mean()
    return float((rest**2).sum() / ((count - 1) * (n - 1)) / (count * n))

"""Means over seeds, differences under a two-level bootstrap, and tests."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.stats import chi2
from scipy.stats import t as student

RESAMPLES = 2000
CELLS = 5_000_000  # texts drawn at one time
LEVEL = 0.05
MIN_SEEDS = 5  # seeds; what fewer show is exploratory


class Interval(NamedTuple):
    """A value and its 95 % interval; low and high are None where the runs cannot tell, as those of one seed."""

    value: float
    low: float | None
    high: float | None


class Sample(NamedTuple):
    """A variant's score under every seed, and under resampled texts."""

    seeds: np.ndarray  # S, the score of each run
    texts: np.ndarray | None = None  # deviation of its mean over seeds in each of the RESAMPLES; None: no texts
    answers: np.ndarray | None = None  # S×n, the part of each score that is of neither its seed nor its text
    numbers: tuple[int, ...] | None = None  # the runs' seeds, drawn jointly with other variants'; None: drawn apart

    @property
    def noise(self) -> float:
        """Variance of the mean over seeds that is of neither the seeds nor the texts (two-way layout)."""
        return 0.0 if self.answers is None else _noise(self.answers / np.sqrt(_pairs(len(self.answers))))


class Difference(NamedTuple):
    """A weighted sum of variants' scores."""

    value: float
    low: float | None
    high: float | None
    p_value: float | None  # two-sided, of no difference

    @property
    def interval(self) -> Interval:
        return Interval(self.value, self.low, self.high)


def mean_over_seeds(values: Sequence[float]) -> Interval:
    """Mean of S runs, and the 95 % interval of the mean over all seeds: Student's t with S - 1 degrees of freedom.

    The mean of S other seeds varies as this one does, so the interval holds it less often: in 93 % of cases for
    S = 2, 88 % for S = 5, 86 % for S = 10.
    """
    count, mean = len(values), float(np.mean(values))
    if count < 2:
        return Interval(mean, None, None)
    half = float(student.ppf(1 - LEVEL / 2, count - 1) * np.std(values, ddof=1) / np.sqrt(count))
    return Interval(mean, mean - half, mean + half)


def draw_samples(
    values: Sequence[np.ndarray], seed: int = 0, numbers: Sequence[Sequence[int]] | None = None
) -> list[Sample]:
    """Variants' scores, S×n each: S may differ, the n texts are the same, and so are their resamples.

    Args:
        values: S×n for each variant.
        seed: of the resamples.
        numbers: for each variant the S seeds of its runs. None: no two variants share a seed.
    """
    profiles = np.stack([scores.mean(0) for scores in values])  # V×n
    drawn = _resampled(profiles, np.random.default_rng(seed)) - profiles.mean(1)  # B×V
    known = [None] * len(values) if numbers is None else [tuple(row) for row in numbers]
    return [
        Sample(scores.mean(1), drawn[:, column], _interaction(scores), known[column])
        for column, scores in enumerate(values)
    ]


def estimate_difference(terms: Sequence[tuple[float, Sample]], seed: int = 0, level: float = LEVEL) -> Difference:
    """Sum of weight × score over variants, by a two-level bootstrap of seeds and texts.

    Each resample draws texts, the same for all runs (so that variants are compared on the same texts), and S - 1 of
    the S seeds (S of them would fall short of the variance by 1/S: Rao and Wu 1988). Runs of the same seed start
    alike and read their texts in the same order, so a seed is drawn for all variants that ran it. What is of
    single answers alone (this seed, this text) shows in both levels; it is taken off the seeds' (Owen 2007). The
    resamples' standard deviation with Student's t gives interval and p-value, since percentiles of five seeds
    are too narrow. Degrees of freedom are Satterthwaite's (1946), at an upper bound of the seeds' variance: at its
    estimate, which is small where t is large by chance, p below 5 % came in up to 5.8 % of cases with five seeds, and
    in up to 12 % with two.

    A variant of one seed adds no uncertainty of the seeds: the result then holds for that trained model alone.

    Args:
        terms: weights and samples, each sample once.
        seed: of the resamples.
        level: the interval covers with probability 1 - level.
    """
    rng = np.random.default_rng(seed)
    value = float(sum(weight * sample.seeds.mean() for weight, sample in terms))
    with_texts = [weight * sample.texts for weight, sample in terms if sample.texts is not None]
    resampled = np.sum(with_texts, axis=0) if with_texts else np.zeros(RESAMPLES)
    upper = 0.0  # by how much the seeds' variance may exceed its estimate: to its upper bound at 75 %
    shaky = 0.0  # sum of variance² / degrees of freedom; the texts, being many, add none
    for together in _by_shared_seeds([(weight, sample) for weight, sample in terms if len(sample.seeds) > 1]):
        parts, noise = _parts(together)
        count, variance = len(parts), float((parts**2).sum())
        share = np.sqrt(max(0.0, 1 - noise / variance)) if variance > 0 else 0.0
        drawn = parts[rng.integers(0, count, (RESAMPLES, count - 1))].sum(1) * np.sqrt(count / (count - 1))
        resampled = resampled + share * drawn
        freedom = min(len(sample.seeds) for _, sample in together) - 1
        doubt = (freedom / float(chi2.ppf(0.25, freedom)) - 1) * share**2 * variance
        upper += doubt
        shaky += (variance + doubt) ** 2 / freedom
    error = float(resampled.std())
    if error < 1e-12:  # the same answers, which resampling cannot make differ; or of no texts, runs all alike
        return Difference(value, None, None, 1.0 if with_texts else None)
    total = (error**2 + upper) ** 2 / shaky if shaky > 0 else np.inf
    half = float(student.ppf(1 - level / 2, total)) * error
    return Difference(value, value - half, value + half, float(2 * student.sf(abs(value) / error, total)))


def _by_shared_seeds(terms: Sequence[tuple[float, Sample]]) -> list[list[tuple[float, Sample]]]:
    """Terms that share a seed, directly or through others, side by side."""
    groups: list[list[tuple[float, Sample]]] = []
    for term in terms:
        seeds = set(term[1].numbers or ())
        sharing = [group for group in groups if any(seeds & set(sample.numbers or ()) for _, sample in group)]
        groups = [group for group in groups if group not in sharing]
        groups.append([*(previous for group in sharing for previous in group), term])
    return groups


def _parts(terms: Sequence[tuple[float, Sample]]) -> tuple[np.ndarray, float]:
    """What each seed adds to the sum of weight × mean, and the variance of that sum which is of single answers.

    Scaled so that the squares of the parts sum to the variance, without bias where all terms have the same seeds.
    """
    names: list[Sequence[int]] = [sample.numbers or range(len(sample.seeds)) for _, sample in terms]
    rows = {name: row for row, name in enumerate(dict.fromkeys(name for some in names for name in some))}
    n = max((sample.answers.shape[1] for _, sample in terms if sample.answers is not None), default=2)
    parts, answers = np.zeros(len(rows)), np.zeros((len(rows), n))
    for some, (weight, sample) in zip(names, terms, strict=True):
        where = [rows[name] for name in some]
        scale = weight / np.sqrt(_pairs(len(where)))
        parts[where] += scale * (sample.seeds - sample.seeds.mean())
        if sample.answers is not None:
            answers[where] += scale * sample.answers
    return parts, _noise(answers)


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
    p = np.asarray(p_values, dtype=np.float64)
    order = np.argsort(p, kind="stable")
    adjusted = np.empty_like(p)
    adjusted[order] = np.minimum(1.0, np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1)))
    return adjusted.tolist()


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


def _interaction(values: np.ndarray) -> np.ndarray | None:
    """What is left of S×n scores without their seeds' and their texts' means; None of one seed or one text."""
    if min(values.shape) < 2:
        return None
    return values - values.mean(0) - values.mean(1, keepdims=True) + values.mean()


def _noise(answers: np.ndarray) -> float:
    """Variance of the mean over n texts of a sum over seeds, S×n, whose seeds and texts have been taken off."""
    return float((answers**2).sum() / _pairs(answers.shape[1]))


def _pairs(count: int) -> int:
    return count * (count - 1)

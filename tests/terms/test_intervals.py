"""Intervals and tests, compared with numbers computed by hand, with scipy, and on simulated runs of equal accuracy."""

import numpy as np
import pytest
from scipy.stats import chi2, t, ttest_1samp, ttest_ind, ttest_rel

from heedful.terms.intervals import Interval, Sample, estimate, holm, mean_of_terms

TRIALS = 400


def simulate(
    rng: np.random.Generator, seeds: int, n: int, *, level: float = 1.0, seed: float, text: float, residual: float
) -> np.ndarray:
    """Correctness S×n of a variant's runs: the sum of the effects of seed and text exceeds a threshold."""
    text_effects = rng.normal(size=n) + text * rng.normal(size=n)
    run_effects = seed * rng.normal(size=(seeds, 1)) + residual * rng.normal(size=(seeds, n))
    return (level + text_effects + run_effects > 0).astype(np.float64)


def difference(first: Sample, second: Sample) -> Interval:
    return estimate([(1, first), (-1, second)])


@pytest.mark.parametrize(
    ("sizes", "max_coverage"),
    [
        ({"seed": 0.5, "text": 0.3, "residual": 0.3}, 0.98),
        ({"seed": 0.1, "text": 1.0, "residual": 0.1}, 0.98),
        ({"seed": 0.0, "text": 0.0, "residual": 0.7}, 1.0),
    ],
    ids=["seeds", "texts", "residuals"],
)
def test_intervals_cover_the_difference_and_false_positives_are_rare(sizes, max_coverage) -> None:
    """The coverage is 95 % within three standard errors for each kind of noise; residual noise increases it."""
    rng = np.random.default_rng(11)
    results = [difference(*(Sample(simulate(rng, 5, 211, **sizes)) for _ in range(2))) for _ in range(TRIALS)]
    covered = np.mean([result.low <= 0 <= result.high for result in results])  # type: ignore[operator]
    false_positives = np.mean([result.p_value < 0.05 for result in results])  # type: ignore[operator]
    assert 0.95 - 3 * np.sqrt(0.95 * 0.05 / TRIALS) < covered <= max_coverage
    assert false_positives == pytest.approx(1 - covered, abs=1e-9)  # interval and p-value agree


def test_standard_error_by_hand() -> None:
    """2 seeds × 4 texts and 1 seed × 4 texts: the variance of seeds without the interaction, plus that of texts."""
    first = Sample(np.array([[1.0, 1, 1, 1], [1, 0, 1, 0]]))  # seeds 1.0, 0.5; texts 1, .5, 1, .5; residuals ±0.25
    second = Sample(np.array([[1.0, 0, 1, 1]]))
    # interaction = (8 × 0.0625 / 3) / 8 = 1/48; seeds: 0.125 / 2 = 1/16, of which 1/16 - 1/48 = 1/24 remains
    # differences by text: 0, .5, 0, -.5, of variance 0.5 / 3; divided by 4 texts, 1/24
    # a quarter of χ²(1) lies below 0.1015: the variance 1/24 of seeds may be 1/0.1015 times as large
    variance, margin = 1 / 24 + 1 / 24, (1 / chi2.ppf(0.25, 1) - 1) / 24
    freedom = (variance + margin) ** 2 / ((1 / 16 + margin) ** 2 + (1 / 24) ** 2 / 3)
    result = difference(first, second)
    assert result.value == pytest.approx(0.0)
    assert result.high == pytest.approx(t.ppf(0.975, freedom) * np.sqrt(variance))


def test_one_seed_equals_the_paired_test_over_texts() -> None:
    rng = np.random.default_rng(5)
    first, second = rng.normal(0.1, 1, (2, 1, 7))
    expected = ttest_rel(first[0], second[0])
    result = difference(Sample(first), Sample(second))
    assert result.p_value == pytest.approx(expected.pvalue)
    assert result[1:3] == pytest.approx(expected.confidence_interval())


def test_folds_by_hand() -> None:
    """Three folds of 2, 2 and 3 texts, of differences 1, 0 and 1/3: s² = 7/27, times 1/3 + 1/2."""
    scores, folds = np.array([[1.0, 1, 0, 0, 1, 0, 0]]), np.array([0, 0, 1, 1, 2, 2, 2])
    result = difference(Sample(scores, folds=folds), Sample(np.zeros((1, 7)), folds=folds))
    assert result.value == pytest.approx(3 / 7)
    assert result.high - result.value == pytest.approx(t.ppf(0.975, 2) * np.sqrt(7 / 27 * (1 / 3 + 1 / 2)))


def test_groups_by_hand() -> None:
    """Groups of 1, 2 and 4 texts: the jackknife over the means that each group's absence leaves."""
    scores, groups = np.array([[1.0, 0, 1, 1, 0, 0, 0]]), np.array([9, 4, 4, 2, 2, 2, 2])
    result = difference(Sample(scores, groups=groups), Sample(np.zeros((1, 7)), groups=groups))
    left = np.array([2 / 6, 2 / 5, 2 / 3])  # without group 9, 4 and 2
    error = np.sqrt(2 / 3 * ((left - left.mean()) ** 2).sum())
    assert result.value == pytest.approx(3 / 7)
    assert result.high - result.value == pytest.approx(t.ppf(0.975, 2) * error)
    assert estimate([(1, Sample(scores, groups=np.zeros(7)))]) == (pytest.approx(3 / 7), None, None, None)


def test_groups_of_equal_sizes_have_the_sandwich_variance_and_those_of_one_text_are_texts() -> None:
    rng = np.random.default_rng(3)
    scores, groups = rng.normal(size=(5, 7 * 11)), rng.permutation(np.repeat(np.arange(11), 7))
    residuals = scores.mean(0) - scores.mean()
    expected = 11 / 10 * sum(residuals[groups == group].sum() ** 2 for group in range(11)) / 77**2
    units = Sample(scores, groups=groups).units
    assert units.mean(0).var(ddof=1) / 11 == pytest.approx(expected)
    assert units.mean(1) == pytest.approx(scores.mean(1))
    shuffled = rng.permutation(77)
    assert Sample(scores, groups=shuffled).units[:, shuffled] == pytest.approx(scores)


def test_groups_in_a_cross_validation_count_in_proportion_to_their_texts() -> None:
    """Two folds of two groups each, with 2 and 5 texts; without groups, folds are means."""
    scores, folds = np.array([[1.0, 1, 0, 0, 1, 0, 0]]), np.array([0, 0, 1, 1, 1, 1, 1])
    units = Sample(scores, folds=folds, groups=np.array([0, 1, 2, 2, 2, 3, 3])).units
    change = (1 / 5 - 1) / 2  # half the difference of the means that the absence of a fold leaves
    assert units == pytest.approx(3 / 7 + np.array([[-change, change]]))
    assert Sample(scores, folds=folds).units == pytest.approx(np.array([[1, 1 / 5]]))


def test_several_seeds_against_one_have_no_p_value() -> None:
    several, one = Sample(np.random.default_rng(1).normal(size=(5, 53))), Sample(np.zeros((1, 53)))
    result = difference(several, one)
    assert result.low is not None and result.p_value is None
    assert difference(Sample(several.scores[:1]), one).p_value is not None


def test_identical_predictions_have_no_interval() -> None:
    """Identical predictions of five texts do not show how predictions for other texts would differ."""
    scores = np.array([[1.0, 0, 1, 1, 0]])
    assert difference(Sample(scores), Sample(scores)) == (0.0, None, None, 1.0)
    assert estimate([(1, Sample(np.array([[0.3]])))]) == (0.3, None, None, None)  # a statistic of one run


def test_without_texts_the_test_resembles_welchs_test() -> None:
    """A statistic that does not depend on texts varies only over seeds."""
    rng = np.random.default_rng(8)
    first, second = rng.normal(1, 1, 7), rng.normal(0, 3, 5)
    result = difference(Sample(first[:, None]), Sample(second[:, None]))
    assert result.p_value == pytest.approx(ttest_ind(first, second, equal_var=False).pvalue, rel=0.15)


def test_without_texts_and_with_common_seeds_the_test_equals_the_paired_test() -> None:
    rng = np.random.default_rng(8)
    first, second = rng.normal(1, 1, 7), rng.normal(0, 1, 7)
    seeds = (3, 1, 4, 15, 9, 2, 6)
    result = difference(Sample(first[:, None], seeds), Sample(second[::-1, None], seeds[::-1]))
    assert result.p_value == pytest.approx(ttest_rel(first, second).pvalue)


def test_variants_without_a_common_seed_vary_independently() -> None:
    rng = np.random.default_rng(11)
    first, second = (simulate(rng, 5, 101, seed=0.4, text=0.5, residual=0.3) for _ in range(2))
    separate = difference(Sample(first, (0, 1, 2, 3, 4)), Sample(second, (5, 6, 7, 8, 9)))
    assert separate == pytest.approx(difference(Sample(first), Sample(second)))


def test_variants_in_two_groups_of_common_seeds() -> None:
    """Two pairs of variants: the seeds of the first pair vary independently of those of the second."""
    rng = np.random.default_rng(13)
    pairs = [[simulate(rng, n, 101, seed=0.4, text=0.5, residual=0.3) for _ in "ab"] for n in (3, 5)]
    (first, third), (second, fourth) = pairs
    seeds = [(7, 2, 4), (1, 3, 5, 6, 9)]
    samples = [Sample(values, of) for values, of in zip((first, second, third, fourth), [*seeds, *seeds], strict=True)]
    differences = [Sample(first - third, seeds[0]), Sample(second - fourth, seeds[1])]
    assert estimate(list(zip((1, 1, -1, -1), samples, strict=True))) == pytest.approx(
        estimate([(1, sample) for sample in differences])
    )


def test_interval_of_terms_equals_scipy() -> None:
    terms = np.random.default_rng(2).normal(size=53)
    expected = ttest_1samp(terms, 0).confidence_interval(0.95)
    assert mean_of_terms(terms)[1:3] == pytest.approx((expected.low, expected.high))
    assert mean_of_terms(terms).value == pytest.approx(terms.mean())
    assert mean_of_terms(np.full(7, 0.3)) == (pytest.approx(0.3), None, None, None)
    assert mean_of_terms([0.8]) == (0.8, None, None, None)
    assert Sample(np.array([[0.01], [0.99]]), ends=(0.0, 1.0)).mean == (0.5, 0.0, 1.0, None)


@pytest.mark.parametrize(("seeds", "rate"), [(2, 0.93), (5, 0.88), (10, 0.86)])
def test_interval_over_seeds_covers_the_mean_of_other_seeds_less_often(seeds: int, rate: float) -> None:
    rng = np.random.default_rng(4)
    runs = rng.normal(size=(3 * TRIALS, 2, seeds))
    hits = [low <= others.mean() <= high for sample, others in runs for _, low, high, _ in [mean_of_terms(sample)]]  # type: ignore[operator]
    assert np.mean(hits) == pytest.approx(rate, abs=3 * np.sqrt(rate * (1 - rate) / len(hits)))


def test_holm_by_hand() -> None:
    # smallest first: .005 × 4, .01 × 3, .03 × 2, and .04 × 1, which may not be smaller than its predecessor
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([None, 0.04, None, 0.03]) == pytest.approx([None, 0.06, None, 0.06])
    assert holm([]) == []

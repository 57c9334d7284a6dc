"""Intervals and tests, compared with numbers computed by hand and on simulated runs of a known difference."""

import numpy as np
import pytest

from src.comparison import two_level_bootstrap
from src.comparison.statistics import holm
from src.comparison.two_level_bootstrap import Difference, Sample, draw_samples, estimate_difference

TRIALS = 300


def simulate(
    rng: np.random.Generator, seeds: int, n: int, *, level: float, seed: float, text: float, residual: float
) -> np.ndarray:
    """Correctness S×n of a variant's runs: the sum of the effects of seed and text exceeds a threshold."""
    text_effects = rng.normal(size=n) + text * rng.normal(size=n)
    run_effects = seed * rng.normal(size=(seeds, 1)) + residual * rng.normal(size=(seeds, n))
    return (level + text_effects + run_effects > 0).astype(np.float64)


def simulate_difference(rng: np.random.Generator, **sizes: float) -> Difference:
    """The difference of two variants of equal accuracy."""
    first, second = draw_samples([simulate(rng, 5, 211, level=1.2, **sizes) for _ in range(2)])
    return estimate_difference([(1, first), (-1, second)])


@pytest.mark.parametrize(
    ("sizes", "max_coverage"),
    [
        ({"seed": 0.5, "text": 0.3, "residual": 0.3}, 0.98),
        ({"seed": 0.1, "text": 1.0, "residual": 0.1}, 0.98),
        ({"seed": 0.1, "text": 0.3, "residual": 0.5}, 1.0),
        ({"seed": 0.0, "text": 0.0, "residual": 0.7}, 1.0),
    ],
    ids=["seeds", "texts", "all", "residuals"],
)
def test_intervals_cover_the_difference_and_false_positives_are_rare(
    monkeypatch: pytest.MonkeyPatch, sizes: dict[str, float], max_coverage: float
) -> None:
    """The coverage is 95 % within three standard errors for each kind of noise; residual noise increases it."""
    monkeypatch.setattr(two_level_bootstrap, "RESAMPLES", 400)
    rng = np.random.default_rng(11)
    results = [simulate_difference(rng, **sizes) for _ in range(TRIALS)]
    covered = np.mean([result.low <= 0 <= result.high for result in results])
    false_positives = np.mean([result.p_value < 0.05 for result in results])
    tolerance = 3 * np.sqrt(0.95 * 0.05 / TRIALS)
    assert 0.95 - tolerance < covered <= max_coverage
    assert false_positives < 0.05 + tolerance
    assert false_positives == pytest.approx(1 - covered, abs=1e-9)  # interval and p-value agree


def test_holm_limits_the_family_wise_error_rate(monkeypatch: pytest.MonkeyPatch) -> None:
    """Seven variants are as good as the baseline: few sweeps have a significant difference."""
    monkeypatch.setattr(two_level_bootstrap, "RESAMPLES", 300)
    rng, false_positives, sweeps = np.random.default_rng(12), 0, 100
    for _ in range(sweeps):
        base, *others = draw_samples(
            [simulate(rng, 5, 101, level=1, seed=0.4, text=0.5, residual=0.3) for _ in range(8)]
        )
        false_positives += min(holm([estimate_difference([(1, other), (-1, base)]).p_value for other in others])) < 0.05
    assert false_positives / sweeps < 0.05 + 3 * np.sqrt(0.05 * 0.95 / sweeps)


def test_a_large_difference_is_significant() -> None:
    rng = np.random.default_rng(13)
    significant = []
    for _ in range(20):
        second = simulate(rng, 5, 499, level=0.8, seed=0.05, text=0.3, residual=0.3)
        first = np.maximum(second, rng.uniform(size=second.shape) < 0.3)
        sample, other = draw_samples([first, second])
        significant.append(estimate_difference([(1, sample), (-1, other)]).low > 0)
    assert all(significant)


def test_standard_error_by_hand() -> None:
    """2 seeds × 4 texts and 1 seed × 4 texts: the variance of seeds without the interaction, plus that of texts."""
    first = np.array([[1.0, 1, 1, 1], [1, 0, 1, 0]])  # seeds 1.0, 0.5; texts 1, .5, 1, .5; residuals ±0.25
    second = np.array([[1.0, 0, 1, 1]])
    # noise = (8 × 0.0625 / 3) / 8 = 1/48; seeds: 0.125 / 2 = 1/16, of which 1/16 - 1/48 = 1/24 remains
    # differences by text: 0, .5, 0, -.5, of variance 0.125 with divisor n as in a bootstrap; 0.125 / 4 = 1/32
    sample, other = draw_samples([first, second])
    _, noise = two_level_bootstrap._seed_contributions([(1, sample)])
    assert noise == pytest.approx(1 / 48)
    assert sample.scores == pytest.approx([1.0, 0.5])
    result = estimate_difference([(1, sample), (-1, other)])
    assert result.value == pytest.approx(0.0)
    from scipy.stats import chi2, t

    # a quarter of χ²(1) lies below 0.1015: the variance 1/24 of seeds may be 1/0.1015 times as large
    variance, margin = 1 / 24 + 1 / 32, (1 / chi2.ppf(0.25, 1) - 1) / 24
    freedom = (variance + margin) ** 2 / (1 / 16 + margin) ** 2

    assert result.high == pytest.approx(t.ppf(0.975, freedom) * np.sqrt(variance), rel=0.1)  # 2,000 resamples


def test_texts_are_paired() -> None:
    """The interval is narrower for two variants with the same difficult texts than for two with different ones."""
    rng = np.random.default_rng(5)
    is_difficult = rng.uniform(size=307) < 0.3
    first = np.stack([~is_difficult | (rng.uniform(size=307) < 0.1) for _ in range(3)]).astype(float)
    second = np.stack([~is_difficult | (rng.uniform(size=307) < 0.1) for _ in range(3)]).astype(float)

    def interval_length(other: np.ndarray) -> float:
        a, b = draw_samples([first, other])
        result = estimate_difference([(1, a), (-1, b)])
        return result.high - result.low

    assert interval_length(second) < 0.7 * interval_length(second[:, rng.permutation(307)])


def test_the_interval_of_one_seed_covers_texts_only() -> None:
    """The differences by text 1, 0, 0, -1, … with standard deviation s have the standard error s / √n."""
    first, second = np.zeros((1, 100)), np.zeros((1, 100))
    first[0, :30], second[0, 20:40] = 1, 1
    a, b = draw_samples([first, second])
    result = estimate_difference([(1, a), (-1, b)])
    expected = 1.96 * np.std((first - second)[0]) / 10
    assert result.high - result.value == pytest.approx(expected, rel=0.1)


def test_identical_predictions_have_no_interval() -> None:
    """Identical predictions of five texts do not show how predictions for other texts would differ."""
    scores = np.array([[1.0, 0, 1, 1, 0]])
    a, b = draw_samples([scores, scores])
    assert estimate_difference([(1, a), (-1, b)]) == (0.0, None, None, 1.0)


def test_without_texts_the_test_equals_welchs_test() -> None:
    """A statistic that does not depend on texts varies only over seeds."""
    from scipy.stats import ttest_ind

    rng = np.random.default_rng(8)
    first, second = rng.normal(1, 1, 7), rng.normal(0, 3, 5)
    result = estimate_difference([(1, Sample(first)), (-1, Sample(second))])
    assert result.p_value == pytest.approx(ttest_ind(first, second, equal_var=False).pvalue, rel=0.2)


def test_one_run_without_texts_has_no_interval() -> None:
    single = Sample(np.array([0.3]))
    assert estimate_difference([(1, single)])[1:] == (None, None, None)


def test_without_texts_and_with_common_seeds_the_test_equals_the_paired_test() -> None:
    from scipy.stats import ttest_rel

    rng = np.random.default_rng(8)
    first, second = rng.normal(1, 1, 7), rng.normal(0, 1, 7)
    seeds = (3, 1, 4, 15, 9, 2, 6)
    result = estimate_difference([(1, Sample(first, seeds=seeds)), (-1, Sample(second[::-1], seeds=seeds[::-1]))])
    assert result.p_value == pytest.approx(ttest_rel(first, second).pvalue, rel=0.2)


def test_variants_of_the_same_seeds_are_resampled_as_their_difference() -> None:
    """The variances of seeds, texts and residuals are those of the differences by text and seed."""
    rng = np.random.default_rng(9)
    second = simulate(rng, 5, 101, level=1, seed=0.4, text=0.5, residual=0.3)
    first = np.maximum(second, rng.uniform(size=second.shape) < 0.2)
    seeds = (1, 2, 3, 4, 5)
    sample, other, both = draw_samples([first, second, first - second], seeds=[seeds] * 3)
    assert estimate_difference([(1, sample), (-1, other)]) == pytest.approx(estimate_difference([(1, both)]))


def test_a_variant_under_two_names_adds_no_evidence() -> None:
    rng = np.random.default_rng(10)
    first, second = (simulate(rng, 5, 101, level=1, seed=0.4, text=0.5, residual=0.3) for _ in range(2))
    sample, twin, other = draw_samples([first, first, second], seeds=[range(5)] * 3)
    assert estimate_difference([(0.5, sample), (0.5, twin), (-1, other)]) == pytest.approx(
        estimate_difference([(1, sample), (-1, other)])
    )


def test_variants_without_a_common_seed_are_drawn_independently() -> None:
    rng = np.random.default_rng(11)
    values = [simulate(rng, 5, 101, level=1, seed=0.4, text=0.5, residual=0.3) for _ in range(2)]
    samples = draw_samples(values, seeds=[range(5), range(5, 10)])
    assert estimate_difference([(1, samples[0]), (-1, samples[1])]) == pytest.approx(
        estimate_difference([(weight, sample) for weight, sample in zip((1, -1), draw_samples(values), strict=True)])
    )


def test_variants_in_two_groups_of_common_seeds() -> None:
    """Two pairs of variants: the seeds of the first pair are drawn independently of those of the second."""
    rng = np.random.default_rng(13)
    pairs = [[simulate(rng, n, 101, level=1, seed=0.4, text=0.5, residual=0.3) for _ in "ab"] for n in (3, 5)]
    seeds = [(7, 2, 4), (1, 3, 5, 6, 9)]
    (first, third), (second, fourth) = pairs
    samples = draw_samples([first, second, third, fourth], seeds=[*seeds, *seeds])
    differences = draw_samples([first - third, second - fourth], seeds=seeds)
    assert estimate_difference(list(zip((1, 1, -1, -1), samples, strict=True))) == pytest.approx(
        estimate_difference([(1, difference) for difference in differences])
    )


def test_two_seeds_and_many_texts_keep_the_level(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two seeds cause nine tenths of the variance, whose estimate is small by chance if t is large by chance."""
    monkeypatch.setattr(two_level_bootstrap, "RESAMPLES", 300)
    rng, trials, false_positives = np.random.default_rng(14), 2 * TRIALS, 0
    for _ in range(trials):
        seeds = np.sqrt(0.9 * 2) * rng.normal(size=2) + np.sqrt(0.1) * rng.normal()
        false_positives += estimate_difference([(1, Sample(seeds, np.sqrt(0.1) * rng.normal(size=300)))]).p_value < 0.05
    assert false_positives / trials < 0.05 + 3 * np.sqrt(0.05 * 0.95 / trials)


def test_percentiles_of_five_seeds_are_too_narrow() -> None:
    """This is the reason for an interval by Student's t with the standard error of the bootstrap."""
    rng = np.random.default_rng(21)
    bootstrap = percentiles = 0
    for _ in range(TRIALS):
        first, second = rng.normal(size=(2, 5))
        result = estimate_difference([(1, Sample(first)), (-1, Sample(second))], seed=int(rng.integers(1e9)))
        bootstrap += result.low <= 0 <= result.high
        means = [scores[rng.integers(0, 5, (1000, 5))].mean(1) for scores in (first, second)]
        low, high = np.percentile(means[0] - means[1], [2.5, 97.5])
        percentiles += low <= 0 <= high
    tolerance = 3 * np.sqrt(0.95 * 0.05 / TRIALS)
    assert percentiles / TRIALS < 0.95 - tolerance < bootstrap / TRIALS

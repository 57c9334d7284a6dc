"""Intervals and tests against hand-computed numbers, and on simulated seeds and texts with a known answer."""

import numpy as np
import pytest

from src.comparison import statistics
from src.comparison.statistics import (
    Difference,
    Sample,
    draw_samples,
    estimate_difference,
    holm,
    mcnemar,
    mean_over_seeds,
)

TRIALS = 300


def simulate(
    rng: np.random.Generator, seeds: int, n: int, *, level: float, seed: float, text: float, answer: float
) -> np.ndarray:
    """Which of n texts S runs of a variant get right: a threshold on the sum of what is of each."""
    shared = rng.normal(size=n) + text * rng.normal(size=n)
    luck = seed * rng.normal(size=(seeds, 1)) + answer * rng.normal(size=(seeds, n))
    return (level + shared + luck > 0).astype(np.float64)


def trial(rng: np.random.Generator, **sizes: float) -> Difference:
    """The difference of two variants that are equally good."""
    ours, theirs = draw_samples([simulate(rng, 5, 211, level=1.2, **sizes) for _ in range(2)])
    return estimate_difference([(1, ours), (-1, theirs)])


def test_interval_over_seeds_by_hand() -> None:
    # mean 2.5, standard deviation 1.29099, t(3) = 3.18245: half = 3.18245 × 1.29099 / 2
    value, low, high = mean_over_seeds([1.0, 2.0, 3.0, 4.0])
    assert (value, low, high) == pytest.approx((2.5, 2.5 - 2.05426, 2.5 + 2.05426), abs=1e-5)


def test_one_seed_has_no_interval() -> None:
    assert mean_over_seeds([0.8]) == (0.8, None, None)


def test_interval_over_seeds_covers() -> None:
    rng = np.random.default_rng(3)
    hits = [low <= 0 <= high for _ in range(TRIALS) for _, low, high in [mean_over_seeds(rng.normal(size=5))]]
    assert abs(np.mean(hits) - 0.95) < 3 * np.sqrt(0.95 * 0.05 / TRIALS)


@pytest.mark.parametrize(("seeds", "share"), [(2, 0.93), (5, 0.88), (10, 0.86)])
def test_interval_over_seeds_holds_the_mean_of_as_many_other_seeds_less_often(seeds: int, share: float) -> None:
    rng = np.random.default_rng(4)
    runs = rng.normal(size=(3 * TRIALS, 2, seeds))
    hits = [low <= others.mean() <= high for ours, others in runs for _, low, high in [mean_over_seeds(ours)]]
    assert np.mean(hits) == pytest.approx(share, abs=3 * np.sqrt(share * (1 - share) / len(hits)))


@pytest.mark.parametrize(
    ("sizes", "widest"),
    [
        ({"seed": 0.5, "text": 0.3, "answer": 0.3}, 0.98),
        ({"seed": 0.1, "text": 1.0, "answer": 0.1}, 0.98),
        ({"seed": 0.1, "text": 0.3, "answer": 0.5}, 1.0),
        ({"seed": 0.0, "text": 0.0, "answer": 0.7}, 1.0),
    ],
    ids=["seeds", "texts", "all", "answers"],
)
def test_difference_covers_and_finds_nothing_where_nothing_is(
    monkeypatch: pytest.MonkeyPatch, sizes: dict[str, float], widest: float
) -> None:
    """Whatever the noise is of: 95 % cover, but for what 300 trials allow; noise of answers alone makes it wide."""
    monkeypatch.setattr(statistics, "RESAMPLES", 400)
    rng = np.random.default_rng(11)
    found = [trial(rng, **sizes) for _ in range(TRIALS)]
    covered = np.mean([one.low <= 0 <= one.high for one in found])
    false_positives = np.mean([one.p_value < 0.05 for one in found])
    tolerance = 3 * np.sqrt(0.95 * 0.05 / TRIALS)
    assert 0.95 - tolerance < covered <= widest
    assert false_positives < 0.05 + tolerance
    assert false_positives == pytest.approx(1 - covered, abs=1e-9)  # one decision, said twice


def test_holm_keeps_the_family_wise_rate(monkeypatch: pytest.MonkeyPatch) -> None:
    """Seven variants, none better than the baseline: a sweep that claims any is rare."""
    monkeypatch.setattr(statistics, "RESAMPLES", 300)
    rng, wrong, sweeps = np.random.default_rng(12), 0, 100
    for _ in range(sweeps):
        base, *others = draw_samples([simulate(rng, 5, 101, level=1, seed=0.4, text=0.5, answer=0.3) for _ in range(8)])
        wrong += min(holm([estimate_difference([(1, one), (-1, base)]).p_value for one in others])) < 0.05
    assert wrong / sweeps < 0.05 + 3 * np.sqrt(0.05 * 0.95 / sweeps)


def test_finds_what_is_there() -> None:
    rng = np.random.default_rng(13)
    found = []
    for _ in range(20):
        theirs = simulate(rng, 5, 499, level=0.8, seed=0.05, text=0.3, answer=0.3)
        ours = np.maximum(theirs, rng.uniform(size=theirs.shape) < 0.3)
        one, other = draw_samples([ours, theirs])
        found.append(estimate_difference([(1, one), (-1, other)]).low > 0)
    assert all(found)


def test_standard_error_by_hand() -> None:
    """2 seeds × 4 texts against 1 × 4: seeds' variance beyond the answers' noise, plus the texts'."""
    ours = np.array([[1.0, 1, 1, 1], [1, 0, 1, 0]])  # seeds 1.0, 0.5; texts 1, .5, 1, .5; residuals ±0.25
    theirs = np.array([[1.0, 0, 1, 1]])
    # noise = (8 × 0.0625 / 3) / 8 = 1/48; seeds: 0.125 / 2 = 1/16, of which 1/16 - 1/48 = 1/24 is kept
    # texts of the difference: 0, .5, 0, -.5: variance 0.125, / 4 = 1/32 as a bootstrap has it
    one, other = draw_samples([ours, theirs])
    assert one.noise == pytest.approx(1 / 48)
    assert one.seeds == pytest.approx([1.0, 0.5])
    found = estimate_difference([(1, one), (-1, other)])
    assert found.value == pytest.approx(0.0)
    from scipy.stats import chi2, t

    # a quarter of χ²(1) lies below 0.1015: the seeds' 1/24 may be 1/0.1015 times as much
    variance, more = 1 / 24 + 1 / 32, (1 / chi2.ppf(0.25, 1) - 1) / 24
    freedom = (variance + more) ** 2 / (1 / 16 + more) ** 2

    assert found.high == pytest.approx(t.ppf(0.975, freedom) * np.sqrt(variance), rel=0.1)  # of 2,000 resamples


def test_texts_are_paired() -> None:
    """Two variants that find the same texts hard differ more surely than where each has its own hard ones."""
    rng = np.random.default_rng(5)
    hard = rng.uniform(size=307) < 0.3
    ours = np.stack([~hard | (rng.uniform(size=307) < 0.1) for _ in range(3)]).astype(float)
    theirs = np.stack([~hard | (rng.uniform(size=307) < 0.1) for _ in range(3)]).astype(float)

    def width(other: np.ndarray) -> float:
        a, b = draw_samples([ours, other])
        found = estimate_difference([(1, a), (-1, b)])
        return found.high - found.low

    assert width(theirs) < 0.7 * width(theirs[:, rng.permutation(307)])


def test_one_seed_speaks_of_texts_alone() -> None:
    """The interval is that of paired texts: differences 1, 0, 0, -1, … of spread s, s / √n."""
    ours, theirs = np.zeros((1, 100)), np.zeros((1, 100))
    ours[0, :30], theirs[0, 20:40] = 1, 1
    a, b = draw_samples([ours, theirs])
    found = estimate_difference([(1, a), (-1, b)])
    expected = 1.96 * np.std((ours - theirs)[0]) / 10
    assert found.high - found.value == pytest.approx(expected, rel=0.1)


def test_same_answers_are_no_difference_of_unknown_margin() -> None:
    """That eight texts are answered alike does not say how alike others would be."""
    held = np.array([[1.0, 0, 1, 1, 0]])
    a, b = draw_samples([held, held])
    assert estimate_difference([(1, a), (-1, b)]) == (0.0, None, None, 1.0)


def test_without_texts_it_is_welchs_test() -> None:
    """Of numbers that a run has by itself, the two levels leave one."""
    from scipy.stats import ttest_ind

    rng = np.random.default_rng(8)
    ours, theirs = rng.normal(1, 1, 7), rng.normal(0, 3, 5)
    found = estimate_difference([(1, Sample(ours)), (-1, Sample(theirs))])
    assert found.p_value == pytest.approx(ttest_ind(ours, theirs, equal_var=False).pvalue, rel=0.2)


def test_one_run_without_texts_tells_nothing() -> None:
    alone = Sample(np.array([0.3]))
    assert estimate_difference([(1, alone)])[1:] == (None, None, None)


def test_without_texts_seeds_that_are_shared_make_it_the_paired_test() -> None:
    from scipy.stats import ttest_rel

    rng = np.random.default_rng(8)
    ours, theirs = rng.normal(1, 1, 7), rng.normal(0, 1, 7)
    seeds = (3, 1, 4, 15, 9, 2, 6)
    result = estimate_difference([(1, Sample(ours, numbers=seeds)), (-1, Sample(theirs[::-1], numbers=seeds[::-1]))])
    assert result.p_value == pytest.approx(ttest_rel(ours, theirs).pvalue, rel=0.2)


def test_variants_of_the_same_seeds_are_resampled_as_their_difference() -> None:
    """What seeds, texts and single answers add is that of the difference, answer by answer."""
    rng = np.random.default_rng(9)
    theirs = simulate(rng, 5, 101, level=1, seed=0.4, text=0.5, answer=0.3)
    ours = np.maximum(theirs, rng.uniform(size=theirs.shape) < 0.2)
    seeds = (1, 2, 3, 4, 5)
    one, other, both = draw_samples([ours, theirs, ours - theirs], numbers=[seeds] * 3)
    assert estimate_difference([(1, one), (-1, other)]) == pytest.approx(estimate_difference([(1, both)]))


def test_a_variant_under_two_names_adds_no_evidence() -> None:
    rng = np.random.default_rng(10)
    ours, theirs = (simulate(rng, 5, 101, level=1, seed=0.4, text=0.5, answer=0.3) for _ in range(2))
    one, twin, other = draw_samples([ours, ours, theirs], numbers=[range(5)] * 3)
    assert estimate_difference([(0.5, one), (0.5, twin), (-1, other)]) == pytest.approx(
        estimate_difference([(1, one), (-1, other)])
    )


def test_variants_without_a_common_seed_are_drawn_apart() -> None:
    rng = np.random.default_rng(11)
    values = [simulate(rng, 5, 101, level=1, seed=0.4, text=0.5, answer=0.3) for _ in range(2)]
    known = draw_samples(values, numbers=[range(5), range(5, 10)])
    assert estimate_difference([(1, known[0]), (-1, known[1])]) == pytest.approx(
        estimate_difference([(weight, sample) for weight, sample in zip((1, -1), draw_samples(values), strict=True)])
    )


def test_two_seeds_beside_many_texts_keep_the_level(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nine tenths of the variance are of two seeds: their estimate is small by chance where t is large by chance."""
    monkeypatch.setattr(statistics, "RESAMPLES", 300)
    rng, trials, wrong = np.random.default_rng(14), 2 * TRIALS, 0
    for _ in range(trials):
        seeds = np.sqrt(0.9 * 2) * rng.normal(size=2) + np.sqrt(0.1) * rng.normal()
        wrong += estimate_difference([(1, Sample(seeds, np.sqrt(0.1) * rng.normal(size=300)))]).p_value < 0.05
    assert wrong / trials < 0.05 + 3 * np.sqrt(0.05 * 0.95 / trials)


def test_mcnemar_by_hand() -> None:
    """1 text right only with us and 9 only with them: 2 × (1 + 10) / 2¹⁰."""
    ours = np.array([True] * 5 + [True] * 1 + [False] * 9 + [False] * 2)
    theirs = np.array([True] * 5 + [False] * 1 + [True] * 9 + [False] * 2)
    assert mcnemar(ours, theirs) == pytest.approx(22 / 1024)
    assert mcnemar(ours, ours) == 1.0


def test_holm_by_hand() -> None:
    # smallest first: .005 × 4, .01 × 3, .03 × 2, and .04 × 1, which may not fall below the one before
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([]) == []


def test_percentiles_of_five_seeds_would_be_too_narrow() -> None:
    """Why the bootstrap gives the standard error, and Student's t the interval."""
    rng = np.random.default_rng(21)
    ours = percentiles = 0
    for _ in range(TRIALS):
        one, other = rng.normal(size=(2, 5))
        found = estimate_difference([(1, Sample(one)), (-1, Sample(other))], seed=int(rng.integers(1e9)))
        ours += found.low <= 0 <= found.high
        drawn = [held[rng.integers(0, 5, (1000, 5))].mean(1) for held in (one, other)]
        low, high = np.percentile(drawn[0] - drawn[1], [2.5, 97.5])
        percentiles += low <= 0 <= high
    tolerance = 3 * np.sqrt(0.95 * 0.05 / TRIALS)
    assert percentiles / TRIALS < 0.95 - tolerance < ours / TRIALS

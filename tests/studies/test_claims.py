"""Verdicts on claims: supported, refuted and inconclusive ones, by samples with known means and errors."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import t

from heedful.records.runs import FinishedRun
from heedful.records.variants import Variant
from heedful.runs.result import RunResult
from heedful.terms.intervals import Sample
from heedful.terms.measurements import Measurement
from studies.claims import Claim, claim_lines, judge_claims
from studies.study import Choices, ClaimDefinition

NOISE = np.sqrt(5) * np.array([-1.0, 1, -1, 1, 0])  # of five seeds: their mean has the standard error 1
T = 2.776  # Student's t of a 95 % interval with 4 degrees of freedom


def definition(favoured: Any, against: Any, component: str = "attention", **fields: Any) -> ClaimDefinition:
    """A claim about the accuracy of choices of a component; a tuple of choices means all except these."""

    def choices(names: Any) -> Choices:
        is_negated = isinstance(names, tuple)
        return Choices(names=names if is_negated else (names,), is_negated=is_negated)

    values = {"claim": f"{favoured} beats {against}", "source": "a test", "metric": "acc", "direction": "higher"}
    selectors = {"variants": {component: choices(favoured)}, "against": {component: choices(against)}}
    return ClaimDefinition.model_construct(**(values | {"negligible": 0.005} | fields), **selectors)


NONE, UNIFORM = definition(("none", "uniform"), "none"), definition(("none", "uniform"), "uniform")


def variant(encoder: str, attention: str, seeds: int = 5) -> Variant:
    choices = {"encoder": encoder, "attention": attention}
    runs = [FinishedRun(Path(), RunResult(seed=seed, choices=choices), {}) for seed in range(seeds)]
    return Variant(f"{encoder} · {attention}", choices, tuple(runs))


def measured(item: Variant, values: np.ndarray | float, metric: str = "acc") -> Measurement:
    """Return scores of the seeds without uncertainty from texts."""
    return Measurement(item, {metric: Sample((values + np.zeros(len(item.runs)))[:, None], item.seeds)})


def judge(scores: dict[str, np.ndarray | float], *claims: ClaimDefinition, metric: str = "acc") -> tuple[Claim, ...]:
    """Judge claims on scores by attention, by default of five seeds."""
    variants = [variant("lstm", name, len(values) if np.ndim(values) else 5) for name, values in scores.items()]
    pairs = zip(variants, scores.values(), strict=True)
    return judge_claims(claims, [measured(item, values, metric) for item, values in pairs])


def test_a_claim_about_a_calibration_error_cannot_be_tested() -> None:
    values = {"none": 0.1 + NOISE / 100, "bahdanau": 0.2 - NOISE / 100}
    samples = {name: Sample(np.outer(each, np.ones(3)), tuple(range(5)), freedom=0) for name, each in values.items()}
    items = [Measurement(variant("lstm", name), {"ece": sample}) for name, sample in samples.items()]
    (claim,) = judge_claims([NONE.model_copy(update={"metric": "ece"})], items)
    assert (claim.verdict, claim.difference) == ("inconclusive", (pytest.approx(0.1), None, None, None))
    assert claim.reason == "differences in calibration error have no interval, because their noise is not normal"


@pytest.mark.parametrize(
    ("mean", "margin", "verdict"),
    [
        (0.2, 0.1, "real but negligible"),
        (0.2, 0.25, "not supported"),
        (0.45, 0.1, "supported"),
        (0.45, 0.5, "inconclusive"),
        (2.0, 0.1, "supported"),
        (-0.2, 0.1, "contradicted"),
        (-0.2, 0.6, "not supported"),
        (-0.2, 0.9, "inconclusive"),
    ],
)
def test_a_gain_is_judged_by_its_interval(mean: float, margin: float, verdict: str) -> None:
    """The interval, in points of accuracy, is compared with zero and with half a point."""
    (claim,) = judge({"none": 0.8, "bahdanau": 0.8 + (mean + margin / T * NOISE) / 100}, NONE)
    assert claim.verdict == verdict
    assert claim_lines(claim)[0].startswith(f"{mean / 100:+.4f} (")
    assert claim.difference.high == pytest.approx((mean + margin) / 100, abs=1e-4)


def test_the_mean_over_pairs_decides_and_each_pair_is_listed() -> None:
    (claim,) = judge({"none": 0.5, "bahdanau": 0.6 + NOISE / 999, "keras": 0.8 + NOISE / 999}, NONE)
    assert claim.verdict == "supported"
    assert claim.difference.value == pytest.approx(0.2)
    assert list(map(str, claim.pairs)) == [f"lstm · {name} against lstm · none" for name in ("bahdanau", "keras")]


@pytest.mark.parametrize(
    ("gains", "average"),
    [
        ({"bahdanau": 0.5, "keras": -0.2}, "true on average, but not for"),
        ({"bahdanau": -0.5, "keras": 0.2}, "false on average, but true for"),
    ],
)
def test_a_pair_that_shows_the_opposite_of_the_mean_is_inconclusive(gains: dict[str, float], average: str) -> None:
    (claim,) = judge({"none": 0.8, **{name: 0.8 + (gain + 0.02 * NOISE) / 100 for name, gain in gains.items()}}, NONE)
    assert claim.difference is not None and claim.difference.p_value is not None and claim.difference.p_value < 0.05
    assert (claim.verdict, claim.reason) == ("inconclusive", f"{average} lstm · keras against lstm · none")


def test_intervals_are_simultaneous_and_agree_with_holms_test() -> None:
    """Two claims: intervals of 97.5 %, except for a gain with p = 0.04 in Holm's second step, which ends at zero."""
    gain, quantile = 2.0, t.ppf(0.9875, 4)
    error = gain / t.ppf(0.98, 4)
    uniform = 0.8 - (gain + error * NOISE) / 100
    none, other = judge({"none": 0.5 + 0.001 * NOISE, "uniform": uniform, "bahdanau": 0.8}, NONE, UNIFORM)
    assert (none.verdict, other.verdict) == ("supported", "supported")
    assert other.difference is not None and other.difference.p_value == pytest.approx(0.04)
    assert other.difference.low == 0
    assert other.difference.high == pytest.approx((gain + quantile * error) / 100)


def test_only_variants_that_agree_in_other_components_are_compared() -> None:
    """An LSTM with attention is not compared with an RNN without attention."""
    variants = [variant("rnn", "none"), variant("lstm", "bahdanau")]
    (claim,) = judge_claims([NONE], [measured(item, 0.8) for item in variants])
    assert (claim.verdict, claim.difference) == ("inconclusive", None)
    assert claim.reason == "no variant with attention=not none or uniform has a counterpart with attention=none"


def test_few_seeds_are_inconclusive() -> None:
    (claim,) = judge({"none": 0.5, "bahdanau": 0.9 + NOISE[:4] / 99}, NONE)
    assert claim.verdict == "inconclusive" and claim.difference is not None
    assert claim.reason == "at least one variant has only 4 seeds: a verdict needs 5"


def test_pairs_of_few_seeds_are_excluded_if_others_have_enough() -> None:
    (claim,) = judge({"none": 0.5, "bahdanau": 0.9 + NOISE / 99, "keras": np.array([0.1, 0.2])}, NONE)
    assert claim.verdict == "supported"
    assert list(map(str, claim.pairs)) == ["lstm · bahdanau against lstm · none"]


@pytest.mark.parametrize(
    ("metric", "reason"),
    [
        ("attended_share", "too few runs have enough data in attention_stats.npz"),
        ("auroc", "auroc is not defined on these test texts"),
    ],
)
def test_a_claim_about_a_missing_number_is_inconclusive(metric: str, reason: str) -> None:
    claim = definition("luong_dot", "bahdanau", metric=metric)
    (judged,) = judge_claims([claim], [measured(variant("lstm", name), 0.8) for name in ("luong_dot", "bahdanau")])
    assert (judged.verdict, judged.reason) == ("inconclusive", reason)

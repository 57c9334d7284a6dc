"""The source documents' claims, judged by the compared runs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from src.comparison.numbers import format_p_value
from src.comparison.pairs import (
    NO_TWINS,
    Evidence,
    estimate_gain,
    estimate_gain_over_each,
    estimate_gradient_stability,
    estimate_uniformity,
)
from src.comparison.statistics import LEVEL, MIN_SEEDS, Difference, Sample, holm
from src.comparison.twins import Twins
from src.comparison.variants import Variant

NEGLIGIBLE_GAIN = 0.005  # of accuracy: a gain is negligible where its interval ends below half a point
REPORT = "Sentiment Analysis with Attention Mechanisms (the twenty models)"
OWN_CLAIM = "Heed's own: the documents do not compare with the unweighted mean of all states"
Verdict = Literal["supported", "real but negligible", "not supported", "inconclusive"]


@dataclass(frozen=True)
class Claim:
    """One claim and its verdict."""

    text: str  # such as "Attention beats no attention"
    source: str  # the document
    verdict: Verdict
    numbers: str  # one line, such as "+1.20 points of accuracy (+0.40 to +2.00), p = 0.010"; "" without any
    evidence: tuple[str, ...]  # lines: the differences of the pairs, or the reason why there is no verdict
    merged: tuple[str, ...] = ()  # lines: variants that count once, because their predictions are identical


class ClaimTest(NamedTuple):
    """A claim and its evidence, before the adjustment for all claims."""

    text: str
    source: str
    evidence: Evidence | str  # str: the reason why there is none
    negligible: float | None  # gains below it are negligible; None: no gain is


def judge_claims(
    variants: Sequence[Variant], accuracy: Mapping[str, Sample], twins: Twins = NO_TWINS
) -> tuple[Claim, ...]:
    """Judge each claim by its mean over the pairs of variants that differ in that component only.

    Pairs of twins (variants with identical predictions) count once. The m claims with evidence are tested twice, each
    time at 5 % for all claims together: whether the mean differs from zero (p after Holm's adjustment below 5 %), and
    in which range it lies (simultaneous intervals: Bonferroni's, each at 1 - 5 %/m). Holm's test has more power, so an
    interval that includes zero although Holm's test excludes it is cut at zero. The verdict is the first that applies:

    - inconclusive: fewer than 5 seeds, or no variants or files to judge the claim by.
    - not supported: the mean is significantly below zero.
    - inconclusive: the mean is significantly above zero, but a pair shows the opposite (Holm's test over its pairs).
    - real but negligible: the mean is significantly above zero, and its interval ends below half a point of accuracy.
    - supported: the mean is significantly above zero.
    - not supported: the interval ends below half a point of accuracy.
    - inconclusive: all other cases.

    Claims of another unit than accuracy have no negligible size.

    Args:
        variants: the compared variants.
        accuracy: by variant's name.
        twins: by variant's name, as from `find_twins`.
    """
    present = dict.fromkeys(variant.choices.get("attention", "none") for variant in variants)
    learned = [name for name in present if name not in ("none", "uniform")]
    over_none, over_uniform = (
        estimate_gain(variants, accuracy, "attention", learned, rival, twins) for rival in ("none", "uniform")
    )
    over_others = estimate_gain_over_each(variants, accuracy, "encoder", "bilstm", ["rnn", "lstm", "birnn"], twins)
    uniformity = estimate_uniformity(variants, twins)
    stability = estimate_gradient_stability(variants, twins)
    tests = [
        ClaimTest("Attention beats no attention", REPORT, over_none, NEGLIGIBLE_GAIN),
        ClaimTest("Attention beats uniform attention", OWN_CLAIM, over_uniform, NEGLIGIBLE_GAIN),
        ClaimTest("BiLSTM beats the others", REPORT, over_others, NEGLIGIBLE_GAIN),
        ClaimTest("Luong dot is more uniform than Bahdanau", REPORT, uniformity, None),
        ClaimTest("LSTM's gradients are steadier than RNN's", REPORT, stability, None),
    ]
    p_values = {
        test.text: p_value
        for test in tests
        if isinstance(test.evidence, Evidence) and (p_value := test.evidence.difference(LEVEL).p_value) is not None
    }
    adjusted = dict(zip(p_values, holm(list(p_values.values())), strict=True))
    return tuple(_judge(test, adjusted.get(test.text), len(p_values)) for test in tests)


def _judge(test: ClaimTest, p_value: float | None, num_tests: int) -> Claim:
    """Judge one claim by its p-value after Holm's adjustment; None: it has no p-value."""
    text, source, evidence, negligible = test
    if isinstance(evidence, str):
        return Claim(text, source, "inconclusive", "", (evidence,))
    significant = p_value is not None and p_value < LEVEL
    difference = _cut_at_zero(evidence.difference(LEVEL / max(1, num_tests)), significant)
    reasons = []
    if evidence.seeds < MIN_SEEDS:
        seeds = f"{evidence.seeds} seed{'s' * (evidence.seeds > 1)}"
        reasons = [f"at least one variant has {seeds} only: a verdict needs {MIN_SEEDS}"]
    elif significant and difference.value > 0 and evidence.contradicting_pairs:
        reasons = [f"true on average, but not of {evidence.contradicting_pairs}"]
    verdict = "inconclusive" if reasons else _verdict(difference, significant, negligible)
    numbers = evidence.format(difference)
    if p_value is not None:
        numbers += f"; p {format_p_value(p_value)} after Holm"
    return Claim(text, source, verdict, numbers, (*reasons, *evidence.pair_lines), evidence.merged)


def _verdict(difference: Difference, significant: bool, negligible: float | None) -> Verdict:
    """The verdict by the simultaneous interval and by Holm's test."""
    if significant and difference.value < 0:
        return "not supported"
    is_negligible = negligible is not None and difference.high is not None and difference.high < negligible
    if significant:
        return "real but negligible" if is_negligible else "supported"
    return "not supported" if is_negligible else "inconclusive"


def _cut_at_zero(difference: Difference, significant: bool) -> Difference:
    """Cut the interval at zero where Holm's test excludes zero and Bonferroni's interval includes it."""
    value, low, high, p_value = difference
    if not significant or low is None or high is None:
        return difference
    return (
        Difference(value, max(low, 0.0), high, p_value)
        if value > 0
        else Difference(value, low, min(high, 0.0), p_value)
    )

"""What the source documents claim, judged by the runs at hand."""

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

NEGLIGIBLE_GAIN = 0.005  # a gain of accuracy that is surely below half a point is negligible
REPORT = "Sentiment Analysis with Attention Mechanisms (the twenty models)"
OURS = "ours: an even average of all states is the rival that the documents leave out"
Verdict = Literal["supported", "real but negligible", "not supported", "inconclusive"]


@dataclass(frozen=True)
class Claim:
    """One claim and what the runs say of it."""

    text: str  # such as "Attention beats no attention"
    source: str  # the document
    verdict: Verdict
    numbers: str  # one line, such as "+1.20 points of accuracy (+0.40 to +2.00), p = 0.010"; "" without any
    evidence: tuple[str, ...]  # lines: what was set against what, or why nothing can be said
    merged: tuple[str, ...] = ()  # lines: variants that count once, since their answers are identical


class ClaimTest(NamedTuple):
    """A claim before it is judged."""

    text: str
    source: str
    evidence: Evidence | str  # what the runs show, or why they show nothing
    negligible: float | None  # a gain that is surely below it is negligible; None: no gain is


def judge_claims(
    variants: Sequence[Variant], accuracy: Mapping[str, Sample], twins: Twins = NO_TWINS
) -> tuple[Claim, ...]:
    """All claims, each by its mean over the pairs of variants that differ in that component alone.

    Pairs of twins, variants with identical answers, count once. Two things are asked of the m claims that the runs
    have numbers for, each at 5 % for all claims together: whether the mean differs from zero (p after Holm's
    adjustment below 5 %), and where it lies (simultaneous intervals: Bonferroni's, each at 1 - 5 %/m). Holm's test is
    the sharper, so an interval that reaches beyond zero where Holm's test excludes zero ends at zero. The verdict
    is the first that applies:

    - inconclusive: fewer than 5 seeds, or no variants or files to judge by.
    - not supported: the mean is shown to be below zero.
    - inconclusive: the mean is shown to be above zero, but a pair shows the opposite (Holm's test over its pairs).
    - real but negligible: the mean is shown to be above zero, and its interval ends below half a point of accuracy.
    - supported: the mean is shown to be above zero.
    - not supported: the interval ends below half a point of accuracy.
    - inconclusive: all else.

    Claims of another unit than accuracy have no size that is negligible.

    Args:
        variants: those compared.
        accuracy: by variant's name.
        twins: by variant's name, as from `find_twins`.
    """
    present = dict.fromkeys(variant.choices.get("attention", "none") for variant in variants)
    learnt = [name for name in present if name not in ("none", "uniform")]
    over_none, over_uniform = (
        estimate_gain(variants, accuracy, "attention", learnt, rival, twins) for rival in ("none", "uniform")
    )
    over_others = estimate_gain_over_each(variants, accuracy, "encoder", "bilstm", ["rnn", "lstm", "birnn"], twins)
    questions = [
        ClaimTest("Attention beats no attention", REPORT, over_none, NEGLIGIBLE_GAIN),
        ClaimTest("Attention beats uniform attention", OURS, over_uniform, NEGLIGIBLE_GAIN),
        ClaimTest("BiLSTM beats the others", REPORT, over_others, NEGLIGIBLE_GAIN),
        ClaimTest("Luong dot is more uniform than Bahdanau", REPORT, estimate_uniformity(variants, twins), None),
        ClaimTest(
            "LSTM's gradients are steadier than RNN's", REPORT, estimate_gradient_stability(variants, twins), None
        ),
    ]
    tests = {
        question.text: p_value
        for question in questions
        if isinstance(question.evidence, Evidence)
        and (p_value := question.evidence.interval(LEVEL).p_value) is not None
    }
    adjusted = dict(zip(tests, holm(list(tests.values())), strict=True))
    return tuple(_judged(question, adjusted.get(question.text), len(tests)) for question in questions)


def _judged(question: ClaimTest, p_value: float | None, tests: int) -> Claim:
    """One claim of `tests`, by its p-value after Holm's adjustment; None: it has none."""
    text, source, evidence, negligible = question
    if isinstance(evidence, str):
        return Claim(text, source, "inconclusive", "", (evidence,))
    shown = p_value is not None and p_value < LEVEL
    interval = _cut(evidence.interval(LEVEL / max(1, tests)), shown)
    reasons = []
    if evidence.seeds < MIN_SEEDS:
        reasons = [
            f"{evidence.seeds} seed{'s' * (evidence.seeds > 1)} each at the least: a judgement takes {MIN_SEEDS}"
        ]
    elif shown and interval.value > 0 and evidence.against:
        reasons = [f"true on average, but not of {evidence.against}"]
    verdict = "inconclusive" if reasons else _verdict(interval, shown, negligible)
    numbers = evidence.numbers(interval)
    if p_value is not None:
        numbers += f"; p {format_p_value(p_value)} after Holm"
    return Claim(text, source, verdict, numbers, (*reasons, *evidence.lines), evidence.merged)


def _verdict(interval: Difference, shown: bool, negligible: float | None) -> Verdict:
    """By the simultaneous interval, and whether Holm's test shows a difference from zero."""
    if shown and interval.value < 0:
        return "not supported"
    is_negligible = negligible is not None and interval.high is not None and interval.high < negligible
    if shown:
        return "real but negligible" if is_negligible else "supported"
    return "not supported" if is_negligible else "inconclusive"


def _cut(interval: Difference, shown: bool) -> Difference:
    """End the interval at zero where Holm's test excludes zero and Bonferroni's interval does not."""
    value, low, high, p_value = interval
    if not shown or low is None or high is None:
        return interval
    return (
        Difference(value, max(low, 0.0), high, p_value)
        if value > 0
        else Difference(value, low, min(high, 0.0), p_value)
    )

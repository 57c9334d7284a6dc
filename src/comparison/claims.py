"""What the source documents claim, judged by the runs at hand."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from src.comparison.evidence import Found, evenness, gain, gain_over_each, steadiness
from src.comparison.numbers import chance
from src.comparison.statistics import ENOUGH, LEVEL, Sample, holm
from src.comparison.variants import Variant

WORTH = 0.005  # a gain of accuracy that is surely below half a point is none
REPORT = "Sentiment Analysis with Attention Mechanisms (the twenty models)"
OURS = "ours: an even average of all states is the rival that the documents leave out"
Verdict = Literal["supported", "not supported", "inconclusive"]


@dataclass(frozen=True)
class Claim:
    """One claim and what the runs say of it."""

    text: str  # such as "Attention beats no attention"
    source: str  # the document
    verdict: Verdict
    numbers: str  # one line, such as "+1.20 points of accuracy (+0.40 to +2.00), p = 0.010"; "" without any
    evidence: tuple[str, ...]  # lines: what was set against what, or why nothing can be said


class Asked(NamedTuple):
    """A claim before it is judged."""

    text: str
    source: str
    found: Found | str  # what the runs show, or why they show nothing
    least: float | None  # what is surely less than this is no gain; None: whatever is more than nothing counts


def judge(variants: Sequence[Variant], accuracy: Mapping[str, Sample]) -> tuple[Claim, ...]:
    """All claims, at 5 % after Holm's adjustment for their number.

    - supported: it holds on average over the pairs of variants that differ in that part alone, and no pair shows
      the opposite.
    - not supported: the opposite holds, or the interval of a gain of accuracy ends below half a point.
    - inconclusive: neither is shown, or there are fewer than 5 seeds, or the variants are not there.

    Args:
        variants: those compared.
        accuracy: by variant's name.
    """
    present = dict.fromkeys(variant.choices.get("attention", "none") for variant in variants)
    learnt = [name for name in present if name not in ("none", "uniform")]
    over_none, over_uniform = (gain(variants, accuracy, "attention", learnt, rival) for rival in ("none", "uniform"))
    over_others = gain_over_each(variants, accuracy, "encoder", "bilstm", ["rnn", "lstm", "birnn"])
    asked = [
        Asked("Attention beats no attention", REPORT, over_none, WORTH),
        Asked("Attention beats uniform attention", OURS, over_uniform, WORTH),
        Asked("BiLSTM beats the others", REPORT, over_others, WORTH),
        Asked("Luong dot is more uniform than Bahdanau", REPORT, evenness(variants), None),
        Asked("LSTM's gradients are steadier than RNN's", REPORT, steadiness(variants), None),
    ]
    tests = [one.found.value.p_value for one in asked if isinstance(one.found, Found)]
    adjusted = iter(holm([p for p in tests if p is not None]))
    return tuple(_judged(one, adjusted) for one in asked)


def _judged(asked: Asked, adjusted: Iterator[float]) -> Claim:
    text, source, found, least = asked
    if isinstance(found, str):
        return Claim(text, source, "inconclusive", "", (found,))
    value, _, high, p_value = found.value
    p = 1.0 if p_value is None else next(adjusted)
    reasons = []
    verdict: Verdict = "inconclusive"
    if found.seeds < ENOUGH:
        reasons = [f"{found.seeds} seed{'s' * (found.seeds > 1)} each at the least: a judgement takes {ENOUGH}"]
    elif p < LEVEL and value > 0 and found.against:
        reasons = [f"true on average, but not of {found.against}"]
    elif p < LEVEL and value > 0:
        verdict = "supported"
    elif (p < LEVEL and value < 0) or (least is not None and high is not None and high < least):
        verdict = "not supported"
    numbers = found.numbers if p_value is None else f"{found.numbers}; p {chance(p)} after Holm"
    return Claim(text, source, verdict, numbers, (*reasons, *found.lines))

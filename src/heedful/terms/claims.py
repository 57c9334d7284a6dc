"""Judge the claims of a study by the differences within pairs of variants."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

from heedful.base.formatting import format_count
from heedful.tasks.classes import MIN_TEXTS
from heedful.terms.intervals import LEVEL, MIN_SEEDS, Interval, Sample, estimate, holm
from heedful.terms.measurements import Measurement, missing, untested
from heedful.terms.study import ClaimDefinition, Statement, describe_selector, match_pairs

ClaimVerdict = Literal["supported", "real but negligible", "contradicted", "not supported", "inconclusive"]


@dataclass(frozen=True)
class Pair:
    """The two sides of a claim, and their difference as a weighted sum of samples; positive if the claim is true."""

    favoured: str
    counterpart: str
    weighted: tuple[tuple[float, Sample], ...]

    @cached_property
    def difference(self) -> Interval:
        """The difference with the 95 % interval of this pair alone."""
        return estimate(self.weighted)

    @property
    def seeds(self) -> int:
        """The number of seeds of the side that has fewer."""
        return min(len(sample.seeds or sample.scores) for _, sample in self.weighted)

    def __str__(self) -> str:
        return f"{self.favoured} against {self.counterpart}"


@dataclass(frozen=True)
class Claim:
    """A claim with its evidence and its verdict.

    Args:
        reason: the reason for an inconclusive verdict that the numbers do not show; "" if there is none.
        difference: the mean difference over the pairs, positive if the claim is true, with its simultaneous interval
            and the p-value after Holm's adjustment; None without evidence.
    """

    definition: Statement
    pairs: tuple[Pair, ...] = ()
    reason: str = ""
    verdict: ClaimVerdict = "inconclusive"
    difference: Interval | None = None


def judge_claims(definitions: Sequence[ClaimDefinition], measurements: Sequence[Measurement]) -> tuple[Claim, ...]:
    """Judge each claim by the mean difference over pairs of variants that differ only in the components of the claim.

    Pairs with fewer than 5 seeds are omitted if other pairs have enough seeds.
    """
    return judge([_find_pairs(definition, measurements) for definition in definitions])


def judge(claims: Sequence[Claim]) -> tuple[Claim, ...]:
    """Give each claim that has pairs its verdict; docs/comparing.md states the rules.

    Two methods, each with a family-wise error rate of 5 %, are applied to the m claims that can be tested. Holm's test
    decides whether the mean differs from zero (p below 5 % after the adjustment). Bonferroni's simultaneous intervals,
    which have a confidence level of 1 - 5 %/m each, estimate the mean. Holm's test is more powerful: if it rejects zero
    but the interval contains zero, the interval is truncated at zero.
    """
    means = [_mean_over_pairs(claim) for claim in claims]
    p_values = holm([estimate(mean).p_value if mean else None for mean in means])
    level = LEVEL / max(1, sum(p_value is not None for p_value in p_values))
    return tuple(
        _judge(claim, estimate(mean, level), p_value) if mean else claim
        for claim, mean, p_value in zip(claims, means, p_values, strict=True)
    )


def _mean_over_pairs(claim: Claim) -> list[tuple[float, Sample]]:
    """Return the mean difference as a weighted sum; a variant may be in several pairs."""
    weights: dict[Sample, float] = {}
    for pair in claim.pairs:
        for weight, sample in pair.weighted:
            weights[sample] = weights.get(sample, 0.0) + weight / len(claim.pairs)
    return [(weight, sample) for sample, weight in weights.items()]


def _judge(claim: Claim, difference: Interval, p_value: float | None) -> Claim:
    """Judge a claim by its mean difference with the simultaneous interval, and by its adjusted p-value."""
    value, low, high, _ = difference
    is_shown = _is_significant(p_value)
    if is_shown and low is not None and high is not None:
        low, high = (max(low, 0.0), high) if value > 0 else (low, min(high, 0.0))
    claim = replace(claim, difference=Interval(value, low, high, p_value))
    if (seeds := min(pair.seeds for pair in claim.pairs)) < MIN_SEEDS:
        count = format_count(seeds, "seed")
        return replace(claim, reason=f"at least one variant has only {count}: a verdict needs {MIN_SEEDS}")
    adjusted = zip(claim.pairs, holm([pair.difference.p_value for pair in claim.pairs]), strict=True)
    opposite = [str(pair) for pair, p in adjusted if _is_significant(p) and pair.difference.value * value < 0]
    if is_shown and opposite:
        average, pairs = ("true on average, but not", "false on average, but true")[value < 0], ", ".join(opposite)
        return replace(claim, reason=f"{average} for {pairs}")
    if is_shown and value < 0:
        return replace(claim, verdict="contradicted")
    limit = claim.definition.negligible
    is_negligible = limit is not None and high is not None and high < limit
    if is_shown:
        return replace(claim, verdict="real but negligible" if is_negligible else "supported")
    return replace(claim, verdict="not supported" if is_negligible else "inconclusive")


def _is_significant(p_value: float | None) -> bool:
    return p_value is not None and p_value < LEVEL


def _find_pairs(definition: ClaimDefinition, measurements: Sequence[Measurement]) -> Claim:
    """Return a claim with its evidence, or with the reason why there is none."""
    by_name = {item.variant.name: item for item in measurements}
    matches = match_pairs([item.variant for item in measurements], definition.variants, definition.against)
    if not matches:
        favoured, against = describe_selector(definition.variants), describe_selector(definition.against)
        return Claim(definition, reason=f"no variant with {favoured} has a counterpart with {against}")
    names = dict.fromkeys(variant.name for pair in matches for variant in pair)
    samples = {name: sample for name in names if (sample := by_name[name].samples.get(definition.metric))}
    sign = 1 if definition.direction == "higher" else -1
    pairs = [
        Pair(first.name, second.name, ((sign, samples[first.name]), (-sign, samples[second.name])))
        for first, second in matches
        if {first.name, second.name} <= samples.keys()
    ]
    with_enough_seeds = [pair for pair in pairs if pair.seeds >= MIN_SEEDS]
    cannot_test = any(sample.freedom < 1 for sample in samples.values())
    reason = untested(definition.metric, f"fewer than {MIN_TEXTS} texts") if cannot_test else ""
    return Claim(definition, tuple(with_enough_seeds or pairs), reason if pairs else missing(definition.metric))

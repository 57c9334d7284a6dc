"""Judge the claims of a study by the differences within pairs of variants."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

from src.terms.intervals import LEVEL, MIN_SEEDS, Difference, Sample, estimate, holm
from src.terms.measurements import RUN_STATISTICS, Measurement, sample_runs
from src.terms.scores import SCORES
from src.terms.study import ClaimDefinition, Statement, describe, match_pairs

Pair = tuple[Measurement, Measurement]  # the variant that the claim favours, and its counterpart
ClaimVerdict = Literal["supported", "real but negligible", "contradicted", "not supported", "inconclusive"]


class PairDifference(NamedTuple):
    """The difference within a pair; positive if the claim is true for the pair."""

    favoured: str
    counterpart: str
    difference: Difference  # with the 95 % interval of this pair alone

    def __str__(self) -> str:
        return f"{self.favoured} against {self.counterpart}"


@dataclass(frozen=True)
class Claim:
    """A claim and its verdict.

    Args:
        difference: the mean difference over the pairs, positive if the claim is true, with its simultaneous interval;
            None without evidence.
        p_value: p-value after Holm's adjustment; None if the claim cannot be tested.
        pairs: the differences of which `difference` is the mean.
        reason: the reason for an inconclusive verdict that the numbers do not show; "" if there is none.
        notes: sentences about excluded pairs.
    """

    definition: Statement
    verdict: ClaimVerdict = "inconclusive"
    difference: Difference | None = None
    p_value: float | None = None
    pairs: tuple[PairDifference, ...] = ()
    reason: str = ""
    notes: tuple[str, ...] = ()


class Evidence(NamedTuple):
    """A claim without verdict, and the weights and samples of its mean difference, which are empty without evidence."""

    claim: Claim
    weighted: list[tuple[float, Sample]]
    seeds: int = 0  # the smallest number of seeds of any variant in the pairs


def judge_claims(definitions: Sequence[ClaimDefinition], measurements: Sequence[Measurement]) -> tuple[Claim, ...]:
    """Judge each claim by the mean difference over pairs of variants that differ only in the components of the claim.

    Pairs with fewer than 5 seeds are excluded if other pairs have enough seeds.
    """
    return judge([_gather(definition, measurements) for definition in definitions])


def judge(evidence: Sequence[Evidence]) -> tuple[Claim, ...]:
    """Give each claim its verdict; docs/comparing.md states the rules.

    Two methods, each with a family-wise error rate of 5 %, are applied to the m claims that can be tested. Holm's test
    decides whether the mean differs from zero (p below 5 % after the adjustment). Bonferroni's simultaneous intervals,
    which have a confidence level of 1 - 5 %/m each, estimate the mean. Holm's test is more powerful: if it rejects zero
    but the interval contains zero, the interval is truncated at zero.
    """
    p_values = [estimate(item.weighted).p_value if item.weighted else None for item in evidence]
    level = LEVEL / max(1, sum(p_value is not None for p_value in p_values))
    return tuple(
        _judge(item, p_value, level) if item.weighted else item.claim
        for item, p_value in zip(evidence, holm(p_values), strict=True)
    )


def _judge(evidence: Evidence, p_value: float | None, level: float) -> Claim:
    """Judge a claim with evidence by its adjusted p-value and an interval with the coverage 1 - level."""
    difference = estimate(evidence.weighted, level)
    significant = p_value is not None and p_value < LEVEL
    value, low, high, _ = difference
    if significant and low is not None and high is not None:
        # Holm's test rejects zero, but Bonferroni's wider interval may contain zero
        bounds = (max(low, 0.0), high) if value > 0 else (low, min(high, 0.0))
        difference = Difference(value, *bounds, p_value)
    claim = replace(evidence.claim, difference=difference, p_value=p_value)
    if evidence.seeds < MIN_SEEDS:
        seeds = f"{evidence.seeds} seed{'s' * (evidence.seeds > 1)}"
        return replace(claim, reason=f"at least one variant has only {seeds}: a verdict needs {MIN_SEEDS}")
    if significant and value > 0:
        adjusted = holm([pair.difference.p_value for pair in claim.pairs])
        opposite = [
            str(pair)
            for pair, p in zip(claim.pairs, adjusted, strict=True)
            if p is not None and p < LEVEL and pair.difference.value < 0
        ]
        if opposite:
            return replace(claim, reason=f"true on average, but not for {', '.join(opposite)}")
    limit = claim.definition.negligible
    is_negligible = limit is not None and difference.high is not None and difference.high < limit
    if significant and value < 0:
        return replace(claim, verdict="contradicted")
    if significant:
        return replace(claim, verdict="real but negligible" if is_negligible else "supported")
    return replace(claim, verdict="not supported" if is_negligible else "inconclusive")


def _gather(definition: ClaimDefinition, measurements: Sequence[Measurement]) -> Evidence:
    """Return the evidence about a claim."""
    by_name = {item.variant.name: item for item in measurements}
    matches = match_pairs([item.variant for item in measurements], definition.variants, definition.against)
    pairs = [(by_name[first.name], by_name[second.name]) for first, second in matches]
    samples, missing = _samples(definition.metric, pairs)
    if not pairs:
        favoured, against = describe(definition.variants), describe(definition.against)
        missing = f"no variant with {favoured} has a counterpart with {against}"
    pairs = [pair for pair in pairs if all(item.variant.name in samples for item in pair)]
    if not pairs:
        return Evidence(Claim(definition, reason=missing), [])
    included = [pair for pair in pairs if _seeds(pair) >= MIN_SEEDS] or pairs
    notes = [
        f"{first.variant.name} against {second.variant.name}: excluded because it has fewer than {MIN_SEEDS} seeds"
        for first, second in pairs
        if (first, second) not in included
    ]
    sign = 1 if definition.direction == "higher" else -1
    differences, weights = [], dict[str, float]()  # by variant, because a variant may be in several pairs
    for first, second in included:
        weighted = {first.variant.name: sign, second.variant.name: -sign}
        difference = estimate([(weight, samples[name]) for name, weight in weighted.items()])
        differences.append(PairDifference(first.variant.name, second.variant.name, difference))
        for name, weight in weighted.items():
            weights[name] = weights.get(name, 0.0) + weight / len(included)
    return Evidence(
        Claim(definition, pairs=tuple(differences), notes=tuple(notes)),
        [(weight, samples[name]) for name, weight in weights.items()],
        min(map(_seeds, included)),
    )


def _samples(metric: str, pairs: Sequence[Pair]) -> tuple[Mapping[str, Sample], str]:
    """Return the samples of a metric by variant name, and the reason why a variant may lack them."""
    measurements = [item for pair in pairs for item in pair]
    if metric in SCORES:
        samples = {item.variant.name: item.samples[metric] for item in measurements if metric in item.samples}
        return samples, f"{metric} is not defined on these test texts"
    variants = {item.variant.name: item.variant for item in measurements}
    reason = f"too few runs have enough data in {RUN_STATISTICS[metric].file}"
    return sample_runs(variants.values(), metric), reason


def _seeds(pair: Pair) -> int:
    return min(len(item.variant.seeds) for item in pair)

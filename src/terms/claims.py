"""Judge the claims of a study by the differences within pairs of variants."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from src.records.twins import Twins, describe_twins, twin_names
from src.records.variants import Variant
from src.terms.intervals import LEVEL, Difference, Sample, estimate
from src.terms.measurements import RUN_STATISTICS, sample_runs
from src.terms.significance import MIN_SEEDS, ClaimVerdict, claim_verdict, holm
from src.terms.study import ClaimDefinition, describe, match_pairs

Pair = tuple[Variant, Variant]  # the variant that the claim favours, and its counterpart
Samples = Mapping[str, Mapping[str, Sample]]  # by metric, then by variant name


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
        notes: sentences about excluded pairs, and about variants that count as one.
    """

    definition: ClaimDefinition
    verdict: ClaimVerdict = "inconclusive"
    difference: Difference | None = None
    p_value: float | None = None
    pairs: tuple[PairDifference, ...] = ()
    reason: str = ""
    notes: tuple[str, ...] = ()


class _Evidence(NamedTuple):
    """A claim without verdict, and the weights and samples of its mean difference, which are empty without evidence."""

    claim: Claim
    weighted: list[tuple[float, Sample]]
    seeds: int  # the smallest number of seeds of any variant in the pairs


def judge_claims(
    definitions: Sequence[ClaimDefinition], variants: Sequence[Variant], samples: Samples, twins: Twins
) -> tuple[Claim, ...]:
    """Judge each claim by the mean difference over pairs of variants that differ only in the components of the claim.

    Pairs that differ only by twins (variants with identical predictions) count once. Pairs with fewer than 5 seeds are
    excluded if other pairs have enough seeds. Two methods, each with a family-wise error rate of 5 %, are applied to
    the m claims that can be tested. Holm's test decides whether the mean differs from zero (p below 5 % after the
    adjustment). Bonferroni's simultaneous intervals, which have a confidence level of 1 - 5 %/m each, estimate the
    mean. Holm's test is more powerful: if it rejects zero but the interval contains zero, the interval is truncated at
    zero.
    The verdict is the first in this list that applies:

    - inconclusive: the claim has no evidence, or a variant in a pair that is not excluded has fewer than 5 seeds.
    - not supported: the mean is significantly below zero.
    - inconclusive: the mean is significantly above zero, but a single pair is significantly below zero by Holm's
      test over the claim's pairs.
    - real but negligible: the mean is significantly above zero, and its interval ends below the negligible size.
    - supported: the mean is significantly above zero.
    - not supported: the interval ends below the negligible size.
    - inconclusive: all other cases.

    Args:
        samples: samples of each metric that is defined on the test texts.
        twins: result of `find_twins`.
    """
    evidence = [
        _gather(definition, match_pairs(variants, definition.variants, definition.against), samples, twins)
        for definition in definitions
    ]
    p_values = [estimate(item.weighted).p_value if item.weighted else None for item in evidence]
    adjusted = iter(holm([p_value for p_value in p_values if p_value is not None]))
    level = LEVEL / max(1, sum(p_value is not None for p_value in p_values))
    return tuple(
        _judge(item, None if p_value is None else next(adjusted), level) if item.weighted else item.claim
        for item, p_value in zip(evidence, p_values, strict=True)
    )


def _judge(evidence: _Evidence, p_value: float | None, level: float) -> Claim:
    """Judge a claim with evidence.

    Args:
        p_value: p-value after Holm's adjustment; None if the claim cannot be tested.
        level: 1 minus the coverage of the interval.
    """
    claim, difference = evidence.claim, estimate(evidence.weighted, level)
    significant = p_value is not None and p_value < LEVEL
    value, low, high, _ = difference
    if significant and low is not None and high is not None:
        # Holm's test rejects zero, but Bonferroni's wider interval may contain zero
        bounds = (max(low, 0.0), high) if value > 0 else (low, min(high, 0.0))
        difference = Difference(value, *bounds, p_value)
    claim = replace(claim, difference=difference, p_value=p_value)
    if evidence.seeds < MIN_SEEDS:
        seeds = f"{evidence.seeds} seed{'s' * (evidence.seeds > 1)}"
        return replace(claim, reason=f"at least one variant has only {seeds}: a verdict needs {MIN_SEEDS}")
    if significant and value > 0 and (opposite := _significantly_negative(claim.pairs)):
        return replace(claim, reason=f"true on average, but not for {', '.join(map(str, opposite))}")
    return replace(claim, verdict=claim_verdict(difference, significant, claim.definition.negligible))


def _significantly_negative(pairs: Sequence[PairDifference]) -> list[PairDifference]:
    """Return the pairs for which the opposite of the claim is significant by Holm's test over the pairs."""
    adjusted = holm([1.0 if (p_value := pair.difference.p_value) is None else p_value for pair in pairs])
    return [pair for pair, p in zip(pairs, adjusted, strict=True) if p < LEVEL and pair.difference.value < 0]


def _gather(definition: ClaimDefinition, pairs: Sequence[Pair], samples: Samples, twins: Twins) -> _Evidence:
    """Return the evidence about a claim."""

    def without_evidence(reason: str) -> _Evidence:
        return _Evidence(Claim(definition, reason=reason), [], 0)

    if not pairs:
        favoured, against = describe(definition.variants), describe(definition.against)
        return without_evidence(f"no variant with {favoured} has a counterpart with {against}")
    of_metric = samples.get(definition.metric)
    if definition.metric in RUN_STATISTICS:
        of_metric = sample_runs({v.name: v for pair in pairs for v in pair}.values(), definition.metric)
        pairs = [pair for pair in pairs if all(variant.name in of_metric for variant in pair)]
        if not pairs:
            return without_evidence(f"too few runs have enough data in {RUN_STATISTICS[definition.metric].file}")
    if of_metric is None:
        return without_evidence(f"{definition.metric} is not defined on these test texts")
    included = [pair for pair in pairs if _seeds(pair) >= MIN_SEEDS] or list(pairs)
    by_predictions: dict[tuple[str, ...], list[Pair]] = {}
    for pair in included:
        by_predictions.setdefault(twin_names(pair, twins), []).append(pair)
    distinct = [max(same, key=_seeds) for same in by_predictions.values()]
    sign = 1 if definition.direction == "higher" else -1
    differences, weights = [], dict[str, float]()  # by variant, because a variant may be in several pairs
    for first, second in distinct:
        weighted = ((sign, first.name), (-sign, second.name))
        difference = estimate([(weight, of_metric[name]) for weight, name in weighted])
        differences.append(PairDifference(first.name, second.name, difference))
        for weight, name in weighted:
            weights[name] = weights.get(name, 0.0) + weight / len(distinct)
    excluded = [
        f"{first.name} against {second.name}: excluded because it has fewer than {MIN_SEEDS} seeds"
        for first, second in pairs
        if (first, second) not in included
    ]
    sides = [side for same in by_predictions.values() for side in zip(*same, strict=True)]
    merged = dict.fromkeys(line for variants in sides if (line := describe_twins(variants)))
    return _Evidence(
        Claim(definition, pairs=tuple(differences), notes=(*excluded, *merged)),
        [(weight, of_metric[name]) for name, weight in weights.items()],
        min(map(_seeds, distinct)),
    )


def _seeds(pair: Pair) -> int:
    return min(len(variant.seeds) for variant in pair)

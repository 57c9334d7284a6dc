"""Evidence about a claim: differences within pairs of variants that differ only in the components of the claim."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from src.comparison.formatting import format_difference, label
from src.comparison.measurements import RUN_STATISTICS, sample_runs
from src.comparison.statistics import LEVEL, MIN_SEEDS, holm
from src.comparison.study import Choices, ClaimDefinition, Pairing, choice_of, matches
from src.comparison.twins import Twins, describe_twins, twin_names
from src.comparison.two_level_bootstrap import Difference, Sample, estimate_difference
from src.comparison.variants import Variant

Pair = tuple[Variant, Variant]  # the variant that the claim favours, and its rival
# the rival's choice → pairs; if the mean over all pairs decides, ALL_RIVALS → all pairs
PairsByRival = Mapping[str, Sequence[Pair]]
Samples = Mapping[str, Mapping[str, Sample]]  # by metric, then by variant name
ALL_RIVALS = ""


class NoEvidence(NamedTuple):
    """The absence of evidence about a claim."""

    reason: str  # such as "no variant with attention=keras has a counterpart with attention=none"


class Evidence(NamedTuple):
    """The evidence about a claim."""

    terms: tuple[tuple[float, Sample], ...]  # weights and samples; the weighted sum is positive if the claim is true
    # if the mean decides, the difference of each pair, then the excluded pairs; if the strongest rival decides, the
    # mean difference from each rival; all differences have 95 % intervals
    pair_lines: tuple[str, ...]
    merged: tuple[str, ...]  # lines about variants that count as one because their predictions are identical
    contradicting_pairs: str  # pairs for which the opposite of the claim is significant; "" if there are none
    seeds: int  # the smallest number of seeds of any variant in the pairs that are not excluded
    # the choices of the rivals, the strongest first; `terms` concern only the strongest rival; () if the mean decides
    rivals: tuple[str, ...] = ()

    def difference(self, level: float) -> Difference:
        """Estimate the weighted sum of `terms`, with its interval and p-value adjusted for the number of rivals.

        A claim against several rivals needs only the test against the strongest rival (Berger 1982). A negative
        difference, however, can arise by chance against any of the rivals. Therefore the level is divided by the
        number of rivals, and the p-value of a negative difference is multiplied by this number.

        Args:
            level: 1 minus the coverage of the interval, for a single rival.
        """
        count = max(1, len(self.rivals))
        value, low, high, p_value = estimate_difference(self.terms, level=level / count)
        if p_value is not None and value < 0:
            p_value = min(1.0, count * p_value)
        return Difference(value, low, high, p_value)


def match_pairs(variants: Sequence[Variant], pairing: Pairing) -> list[Pair]:
    """Return the pairs (favoured variant, rival) that agree in every component and option not named in `against`.

    Options that only one of the two variants has are ignored.
    """

    def agree(first: Variant, second: Variant) -> bool:
        shared = first.differs.keys() & second.differs.keys() - pairing.against.keys()
        return all(first.differs[key] == second.differs[key] for key in shared)

    return [
        (first, second)
        for second in variants
        for first in variants
        if matches(first, pairing.variants) and matches(second, pairing.against) and agree(first, second)
        if first is not second
    ]


def match_pairs_by_rival(definition: ClaimDefinition, variants: Sequence[Variant]) -> PairsByRival | NoEvidence:
    """Find the pairs of variants that a claim compares.

    Returns:
        The pairs; NoEvidence if no pair exists, or if a rival in a claim about the strongest rival has no pairs.
    """
    by_pairing = [match_pairs(variants, pairing) for pairing in definition.pairs]
    if definition.decided_by == "mean":
        all_pairs = [pair for pairs in by_pairing for pair in pairs]
        return {ALL_RIVALS: all_pairs} if all_pairs else NoEvidence("; ".join(map(str, definition.pairs)))
    ((pairing, pairs),) = zip(definition.pairs, by_pairing, strict=True)
    ((component, choices),) = pairing.against.items()
    by_rival: dict[str, list[Pair]] = {} if choices.is_negated else {name: [] for name in choices.names}
    for pair in pairs:
        by_rival.setdefault(str(choice_of(pair[1], component)), []).append(pair)
    missing = tuple(rival for rival, matched in by_rival.items() if not matched)
    if missing or not pairs:
        absent = Choices(names=missing) if missing else choices
        return NoEvidence(str(Pairing.model_construct(variants=pairing.variants, against={component: absent})))
    return by_rival


def gather_evidence(
    definition: ClaimDefinition, pairs_by_rival: PairsByRival, scores: Samples, twins: Twins
) -> Evidence | NoEvidence:
    """Estimate the mean difference over all pairs of a claim, or over the pairs with the strongest rival.

    Args:
        pairs_by_rival: result of `match_pairs_by_rival`.
        scores: samples of each metric that is defined on the test texts. RUN_STATISTICS are read from the runs' files.
        twins: result of `find_twins`; pairs count once if their favoured variants are twins and so are their rivals.

    Returns:
        The evidence; NoEvidence if the claim's metric is not defined on the test texts or the runs' files lack it.
    """
    pairs = [pair for matched in pairs_by_rival.values() for pair in matched]
    samples = scores.get(definition.metric)
    if definition.metric in RUN_STATISTICS:
        samples = sample_runs({variant.name: variant for pair in pairs for variant in pair}.values(), definition.metric)
        pairs_by_rival = {
            rival: [pair for pair in matched if all(variant.name in samples for variant in pair)]
            for rival, matched in pairs_by_rival.items()
        }
        if not all(pairs_by_rival.values()):
            return NoEvidence(f"too few runs have enough data in {RUN_STATISTICS[definition.metric].file}")
    if samples is None:
        return NoEvidence(f"{label(definition.metric)} is not defined on these test texts")
    by_rival = {rival: _average(definition, matched, samples, twins) for rival, matched in pairs_by_rival.items()}
    if definition.decided_by == "mean":
        return by_rival[ALL_RIVALS]
    means = {rival: estimate_difference(evidence.terms) for rival, evidence in by_rival.items()}
    strongest = min(means, key=lambda rival: _standardized(means[rival]))
    return by_rival[strongest]._replace(
        pair_lines=tuple(
            f"against {rival}, on average: {format_difference(definition, mean, rival=rival)}"
            for rival, mean in means.items()
        ),
        merged=tuple(dict.fromkeys(line for evidence in by_rival.values() for line in evidence.merged)),
        contradicting_pairs="",
        seeds=min(evidence.seeds for evidence in by_rival.values()),
        rivals=tuple(sorted(means, key=lambda rival: rival != strongest)),
    )


def _average(
    definition: ClaimDefinition, pairs: Sequence[Pair], samples: Mapping[str, Sample], twins: Twins
) -> Evidence:
    """Return the terms of the mean difference over the pairs, and the difference of each pair.

    Pairs with fewer than MIN_SEEDS seeds are excluded if other pairs have enough seeds.
    """
    included = [pair for pair in pairs if _seeds(pair) >= MIN_SEEDS] or list(pairs)
    by_predictions: dict[tuple[str, ...], list[Pair]] = {}
    for pair in included:
        by_predictions.setdefault(twin_names(pair, twins), []).append(pair)
    distinct = [max(same, key=_seeds) for same in by_predictions.values()]
    sign = 1 if definition.direction == "higher" else -1
    lines, differences = [], []
    weights: dict[str, float] = {}  # by variant, so that the seeds of a variant in several pairs are drawn once
    for favoured, rival in distinct:
        difference = estimate_difference([(sign, samples[favoured.name]), (-sign, samples[rival.name])])
        differences.append(difference)
        text = format_difference(definition, difference, favoured.name, rival.name)
        lines.append(f"{_name((favoured, rival))}: {text}")
        for name, weight in ((favoured.name, sign), (rival.name, -sign)):
            weights[name] = weights.get(name, 0.0) + weight / len(distinct)
    lines += [
        f"{_name(pair)}: excluded because it has fewer than {MIN_SEEDS} seeds" for pair in pairs if pair not in included
    ]
    adjusted = holm([1.0 if difference.p_value is None else difference.p_value for difference in differences])
    contradicting = [
        _name(pair)
        for pair, difference, p_value in zip(distinct, differences, adjusted, strict=True)
        if p_value < LEVEL and difference.value < 0
    ]
    sides = [side for same in by_predictions.values() for side in zip(*same, strict=True)]
    return Evidence(
        terms=tuple((weight, samples[name]) for name, weight in weights.items()),
        pair_lines=tuple(lines),
        merged=tuple(dict.fromkeys(line for side in sides if (line := describe_twins(side)))),
        contradicting_pairs=", ".join(contradicting),
        seeds=min(map(_seeds, distinct)),
    )


def _seeds(pair: Pair) -> int:
    return min(len(variant.seeds) for variant in pair)


def _name(pair: Pair) -> str:
    favoured, rival = pair
    return f"{favoured.name} against {rival.name}"


def _standardized(difference: Difference) -> float:
    """Return the difference divided by the half-width of its interval, or the difference if there is no interval."""
    return difference.value if difference.low is None else difference.value / (difference.value - difference.low)

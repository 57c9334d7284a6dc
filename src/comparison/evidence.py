"""The evidence on a claim: differences between pairs of variants that differ only in the claim's components."""

from collections.abc import Hashable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from src.comparison.formatting import label
from src.comparison.measurements import RUN_STATISTICS, sample_runs
from src.comparison.statistics import LEVEL, MIN_SEEDS, holm
from src.comparison.study import Choices, ClaimDefinition, Pairing, choice_of, matches
from src.comparison.two_level_bootstrap import Difference, Sample, estimate_difference
from src.comparison.variants import Variant

Pair = tuple[Variant, Variant]  # the variant that the claim favours, and its rival
Samples = Mapping[str, Mapping[str, Sample]]  # by metric, then by variant name
PredictionDigests = Mapping[int, Hashable]  # seed → digest of a run's predictions
Twins = Mapping[str, str]  # a variant's name → the name of the first variant with the same predictions


class Evidence(NamedTuple):
    """The evidence of the runs on a claim."""

    definition: ClaimDefinition
    terms: tuple[tuple[float, Sample], ...]  # weights and samples; the weighted sum is positive if the claim is true
    pair_lines: tuple[str, ...]  # each pair's difference with its own 95 % interval
    merged: tuple[str, ...]  # sentences about variants that count once because their predictions are identical
    contradicting_pairs: str  # pairs that significantly show the opposite; "" if there are none
    seeds: int  # the smallest number of seeds of any variant
    rivals: tuple[str, ...] = ()  # choices of the rivals, strongest first; `terms` are for the strongest

    def difference(self, level: float) -> Difference:
        """Estimate the weighted sum of `terms`, with its interval and p-value adjusted for the number of rivals.

        A claim against several rivals needs only one test, the one against the strongest rival (Berger 1982). A
        negative difference, however, can arise by chance against any of the rivals. Therefore `level`, which is 1 minus
        the coverage of the interval, is divided by the number of rivals, and the p-value of a negative difference is
        multiplied by this number.
        """
        count = max(1, len(self.rivals))
        value, low, high, p_value = estimate_difference(self.terms, level=level / count)
        if p_value is not None and value < 0:
            p_value = min(1.0, count * p_value)
        return Difference(value, low, high, p_value)

    def format(self, difference: Difference) -> str:
        """Format the difference with its interval and unit, and name the strongest rival."""
        strongest = f" against {self.rivals[0]}, the strongest rival" if self.rivals else ""
        return format_difference(self.definition, difference) + strongest


def format_difference(definition: ClaimDefinition, difference: Difference) -> str:
    """Format a difference, such as "+1.20 (+0.40 to +2.00) points of accuracy".

    Args:
        definition: definition of the claim.
        difference: positive if the claim is true.
    """
    metric, is_lower, (value, low, high, _) = definition.metric, definition.direction == "lower", difference
    if metric == "gradient_variation":  # a difference of logarithms
        names = ("against", "variants") if is_lower else ("variants", "against")
        sentence = "the gradient norm varies {{}} times as much in `{}` as in `{}`".format(*names)
        texts = [f"{np.exp(number):.2f}" for number in (value, low, high) if number is not None]
    else:
        if is_lower:
            value, low, high = 0 - value, high and 0 - high, low and 0 - low
        factor, digits, unit = {
            "attended_share": (100, 1, "percentage points of the words attended to, exp(entropy) / length"),
            "attention_faithfulness": (1, 3, f"in {label('attention_faithfulness')}"),
            "gradient_agreement": (1, 3, f"in {label('gradient_agreement')}"),
            "nll": (1, 4, "in negative log-likelihood"),
            "brier": (1, 4, "in Brier score"),
        }.get(metric, (100, 2, f"points of {label(metric)}"))
        texts = [f"{factor * number:+.{digits}f}" for number in (value, low, high) if number is not None]
        sentence = f"{{}} {unit}"
    return sentence.format(f"{texts[0]} ({texts[1]} to {texts[2]})" if len(texts) > 1 else texts[0])


def match_pairs(variants: Sequence[Variant], pairing: Pairing) -> list[Pair]:
    """Return the pairs of a favoured variant and its rival that agree in all settings except those in `against`."""

    def agree(first: Variant, second: Variant) -> bool:  # ignores options that only one of the two has
        shared = first.differs.keys() & second.differs.keys() - pairing.against.keys()
        return all(first.differs[key] == second.differs[key] for key in shared)

    return [
        (first, second)
        for second in variants
        for first in variants
        if matches(first, pairing.variants) and matches(second, pairing.against) and agree(first, second)
        if first is not second
    ]


def match_pairs_by_rival(definition: ClaimDefinition, variants: Sequence[Variant]) -> dict[str, list[Pair]] | str:
    """Find the pairs of variants that a claim compares.

    Returns:
        The pairs by rival, or all pairs under the key "" if the claim is decided by their mean. If variants that the
        claim requires are missing, a text that names them.
    """
    by_pairing = [match_pairs(variants, pairing) for pairing in definition.pairs]
    if definition.decided_by == "mean":
        all_pairs = [pair for pairs in by_pairing for pair in pairs]
        return {"": all_pairs} if all_pairs else "; ".join(map(str, definition.pairs))
    ((pairing, pairs),) = zip(definition.pairs, by_pairing, strict=True)
    ((component, choices),) = pairing.against.items()
    by_rival: dict[str, list[Pair]] = {} if choices.is_negated else {name: [] for name in choices.names}
    for pair in pairs:
        by_rival.setdefault(str(choice_of(pair[1], component)), []).append(pair)
    missing = tuple(rival for rival, matched in by_rival.items() if not matched)
    if missing or not pairs:
        absent = Choices(names=missing) if missing else choices
        return str(Pairing.model_construct(variants=pairing.variants, against={component: absent}))
    return by_rival


def gather_evidence(
    definition: ClaimDefinition,
    pairs_by_rival: Mapping[str, Sequence[Pair]],
    scores: Samples,
    twins: Twins,
) -> Evidence | str:
    """Estimate the mean difference over all pairs of a claim, or over the pairs with the strongest rival.

    Args:
        definition: definition of the claim.
        pairs_by_rival: result of `match_pairs_by_rival`.
        scores: samples of each metric that is defined on the test texts; run statistics are read from the runs' files.
        twins: result of `find_twins`; pairs count once if their favoured variants are twins and so are their rivals.

    Returns:
        The evidence, or, if the runs have no values of the metric, the reason as text.
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
            return f"no pair of runs has enough data in {RUN_STATISTICS[definition.metric].file}"
    if samples is None:
        return f"{label(definition.metric)} is not defined on these test texts"
    by_rival = {rival: _average(definition, matched, samples, twins) for rival, matched in pairs_by_rival.items()}
    if definition.decided_by == "mean":
        return by_rival[""]
    means = {rival: estimate_difference(evidence.terms) for rival, evidence in by_rival.items()}
    strongest = min(means, key=lambda rival: _standardized(means[rival]))
    return Evidence(
        definition,
        by_rival[strongest].terms,
        tuple(f"against {rival}, on average: {format_difference(definition, mean)}" for rival, mean in means.items()),
        tuple(dict.fromkeys(line for evidence in by_rival.values() for line in evidence.merged)),
        "",
        min(evidence.seeds for evidence in by_rival.values()),
        tuple(sorted(means, key=lambda rival: rival != strongest)),
    )


def _average(
    definition: ClaimDefinition, pairs: Sequence[Pair], samples: Mapping[str, Sample], twins: Twins
) -> Evidence:
    """Return the mean and each difference of the pairs, without pairs with few seeds if other pairs have enough."""
    included = [pair for pair in pairs if _seeds(pair) >= MIN_SEEDS] or list(pairs)
    by_predictions: dict[tuple[str, ...], list[Pair]] = {}
    for pair in included:
        by_predictions.setdefault(twin_names(pair, twins), []).append(pair)
    distinct = [max(same, key=_seeds) for same in by_predictions.values()]
    sign = 1 if definition.direction == "higher" else -1
    lines, differences = [], []
    weights: dict[str, float] = {}  # a variant in several pairs is a single term, so that its seeds are drawn once
    for favoured, rival in distinct:
        difference = estimate_difference([(sign, samples[favoured.name]), (-sign, samples[rival.name])])
        differences.append(difference)
        lines.append(f"{_name((favoured, rival))}: {format_difference(definition, difference)}")
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
        definition=definition,
        terms=tuple((weight, samples[name]) for name, weight in weights.items()),
        pair_lines=tuple(lines),
        merged=tuple(dict.fromkeys(line for side in sides if (line := _describe_twins(side)))),
        contradicting_pairs=", ".join(contradicting),
        seeds=min(map(_seeds, distinct)),
    )


def find_twins(digests: Mapping[str, PredictionDigests]) -> dict[str, str]:
    """Map each variant's name to the first variant with the same predictions under every seed that both ran.

    Twins, such as two attention mechanisms with the same formula, count once as evidence. Variants without a common
    seed are not twins, because their predictions cannot be compared.
    """
    twins: dict[str, str] = {}
    for name, by_seed in digests.items():
        matching = (first for first in twins.values() if _identical(by_seed, digests[first]))
        twins[name] = next(matching, name)
    return twins


def twin_names(pair: Pair, twins: Twins) -> tuple[str, ...]:
    return tuple(twins.get(variant.name, variant.name) for variant in pair)


def _identical(digests: PredictionDigests, others: PredictionDigests) -> bool:
    shared = digests.keys() & others.keys()
    return bool(shared) and all(digests[seed] == others[seed] for seed in shared)


def _describe_twins(variants: Sequence[Variant]) -> str:
    """Describe twins, as in "a and b have identical predictions under every seed …"; "" for a single variant."""
    *names, last = dict.fromkeys(variant.name for variant in variants)
    same_seeds = len({variant.seeds for variant in variants}) == 1
    seeds = "every seed" if same_seeds else "every seed that they share"
    return f"{', '.join(names)} and {last} have identical predictions under {seeds}: they count once" if names else ""


def _seeds(pair: Pair) -> int:
    return min(len(variant.seeds) for variant in pair)


def _name(pair: Pair) -> str:
    favoured, rival = pair
    return f"{favoured.name} against {rival.name}"


def _standardized(difference: Difference) -> float:
    """Return the difference divided by the half-width of its interval, or the difference if there is no interval."""
    return difference.value if difference.low is None else difference.value / (difference.value - difference.low)

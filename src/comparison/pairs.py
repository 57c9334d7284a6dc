"""Pairs of variants that differ in one component only, and the evidence that they give."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from src.comparison.run_statistics import attended_share, gradient_variation
from src.comparison.statistics import LEVEL, MIN_SEEDS, Difference, Sample, estimate_difference, holm
from src.comparison.twins import Twins, describe_twins
from src.comparison.variants import Variant

Pair = tuple[Variant, Variant]  # the variant that the claim favours, and its rival
NO_TWINS: Twins = {}


class Unit(NamedTuple):
    """The unit of a difference."""

    format_value: Callable[[float], str]
    sentence: str  # with {} for the value and its interval

    def format(self, difference: Difference) -> str:
        value, low, high, _ = difference
        interval = "" if low is None or high is None else f" ({self.format_value(low)} to {self.format_value(high)})"
        return self.sentence.format(self.format_value(value) + interval)


POINTS = Unit(lambda value: f"{100 * value:+.2f}", "{} points of accuracy")
WORDS = Unit(lambda value: f"{100 * value:+.1f}", "{} points of attended words, exp(entropy) / length")
RATIO = Unit(
    lambda value: f"{np.exp(value):.2f}", "the gradient norm of the RNN varies {} times as much as that of the LSTM"
)


class Evidence(NamedTuple):
    """The evidence of the runs on a claim."""

    terms: tuple[tuple[float, Sample], ...]  # weights and samples; their sum is positive where the claim is true
    unit: Unit
    pair_lines: tuple[str, ...]  # each pair's difference with its own 95 % interval
    merged: tuple[str, ...]  # sentences on variants that count once, because their predictions are identical
    contradicting_pairs: str  # pairs that significantly show the opposite; "" without any
    seeds: int  # the smallest number over variants
    rivals: tuple[str, ...] = ()  # choices that the claim names, the strongest first; `terms` compare with that one

    def difference(self, level: float) -> Difference:
        """Estimate the sum and its interval at 1 - level; both allow for the number of rivals.

        A claim against several rivals is supported as soon as it is supported against the strongest, by one test
        (Berger 1982). Failure against any rival has as many chances as there are rivals, so p and the interval are
        adjusted for their number.
        """
        count = max(1, len(self.rivals))
        value, low, high, p_value = estimate_difference(self.terms, level=level / count)
        if p_value is not None and value < 0:
            p_value = min(1.0, count * p_value)
        return Difference(value, low, high, p_value)

    def format(self, difference: Difference) -> str:
        """The difference with its interval and unit, and the strongest rival."""
        strongest = f" against {self.rivals[0]}, the strongest of them" if self.rivals else ""
        return self.unit.format(difference) + strongest


def match_pairs(variants: Sequence[Variant], group: str, favoured: Sequence[str], rival: str) -> list[Pair]:
    """Pairs of a favoured choice and the rival choice in the group that agree in every other component and option."""

    def other_differences(variant: Variant) -> dict[str, str]:
        return {key: value for key, value in variant.differs.items() if key != group}

    def agree(first: Variant, second: Variant) -> bool:  # ignores options that only one of the two has
        a, b = other_differences(first), other_differences(second)
        return all(a[key] == b[key] for key in a.keys() & b.keys())

    return [
        (first, second)
        for second in variants
        for first in variants
        if first.choices.get(group) in favoured and second.choices.get(group) == rival and agree(first, second)
    ]


def estimate_gain(
    variants: Sequence[Variant],
    scores: Mapping[str, Sample],
    group: str,
    favoured: Sequence[str],
    rival: str,
    twins: Twins = NO_TWINS,
) -> Evidence | str:
    """Compare the accuracy of variants with a favoured choice and with the rival choice."""
    pairs = match_pairs(variants, group, favoured, rival)
    if not pairs:
        return f"no two variants differ in {group} only, one of them with {group}={rival}"
    return _evidence(pairs, scores, POINTS, twins)


def estimate_gain_over_each(
    variants: Sequence[Variant],
    scores: Mapping[str, Sample],
    group: str,
    favoured: str,
    rivals: Sequence[str],
    twins: Twins = NO_TWINS,
) -> Evidence | str:
    """Compare the accuracy with that of several rivals; the strongest rival decides (Berger 1982)."""
    pairs = {rival: match_pairs(variants, group, [favoured], rival) for rival in rivals}
    missing = [rival for rival, matches in pairs.items() if not matches]
    if missing:
        return f"no variant with {group}={favoured} has a counterpart with {group}={' or '.join(missing)}"
    by_rival = {rival: _evidence(matches, scores, POINTS, twins) for rival, matches in pairs.items()}
    means = {rival: estimate_difference(evidence.terms) for rival, evidence in by_rival.items()}
    strongest = min(means, key=lambda rival: _standardized(means[rival]))
    return Evidence(
        by_rival[strongest].terms,
        POINTS,
        tuple(f"against {rival}, on average: {POINTS.format(mean)}" for rival, mean in means.items()),
        tuple(dict.fromkeys(line for evidence in by_rival.values() for line in evidence.merged)),
        "",
        min(evidence.seeds for evidence in by_rival.values()),
        tuple(sorted(rivals, key=lambda rival: rival != strongest)),
    )


def estimate_uniformity(variants: Sequence[Variant], twins: Twins = NO_TWINS) -> Evidence | str:
    """Compare the attended shares of Luong's dot attention and of Bahdanau's."""
    pairs = match_pairs(variants, "attention", ["luong_dot"], "bahdanau")
    if not pairs:
        return "no variant with attention=luong_dot has a counterpart with attention=bahdanau"
    return _evidence_of_runs(pairs, attended_share, "attention_stats.npz", WORDS, twins)


def estimate_gradient_stability(variants: Sequence[Variant], twins: Twins = NO_TWINS) -> Evidence | str:
    """Compare the variation of an RNN's gradient norms with that of an LSTM's."""
    pairs = [*match_pairs(variants, "encoder", ["lstm"], "rnn"), *match_pairs(variants, "encoder", ["bilstm"], "birnn")]
    if not pairs:
        return "no variant with encoder=lstm (or bilstm) has a counterpart with encoder=rnn (or birnn)"
    return _evidence_of_runs(pairs, gradient_variation, "gradients.csv", RATIO, twins, sign=-1)


def _evidence_of_runs(
    pairs: Sequence[Pair],
    statistic: Callable[[Path], float | None],
    file: str,
    unit: Unit,
    twins: Twins,
    sign: int = 1,
) -> Evidence | str:
    """As `_evidence`, for a statistic of each run that does not depend on the test texts."""
    scores: dict[str, Sample] = {}
    for variant in {variant.name: variant for pair in pairs for variant in pair}.values():
        values = [value for run in variant.runs if (value := statistic(run.folder)) is not None]
        if len(values) == len(variant.runs):
            scores[variant.name] = Sample(sign * np.array(values), seeds=tuple(run.seed for run in variant.runs))
    complete = [pair for pair in pairs if all(variant.name in scores for variant in pair)]
    if not complete:
        return f"no pair of runs has a sufficient {file}"
    return _evidence(complete, scores, unit, twins)


def _evidence(pairs: Sequence[Pair], scores: Mapping[str, Sample], unit: Unit, twins: Twins) -> Evidence:
    """The mean over pairs, and each pair. Pairs of few seeds are excluded where others have enough.

    Pairs with the same predictions on both sides are one pair.
    """
    few_seeds = [pair for pair in pairs if _seeds(pair) < MIN_SEEDS]
    included = [pair for pair in pairs if pair not in few_seeds] or list(pairs)
    identical: dict[tuple[str, ...], list[Pair]] = {}
    for pair in included:
        identical.setdefault(tuple(twins.get(variant.name, variant.name) for variant in pair), []).append(pair)
    distinct = [max(same, key=_seeds) for same in identical.values()]
    terms = [(weight / len(distinct), scores[variant.name]) for pair in distinct for weight, variant in _signed(pair)]
    differences = [
        estimate_difference([(weight, scores[variant.name]) for weight, variant in _signed(pair)]) for pair in distinct
    ]
    adjusted = holm([1.0 if result.p_value is None else result.p_value for result in differences])
    names = list(map(_name, distinct))
    lines = [f"{name}: {unit.format(result)}" for name, result in zip(names, differences, strict=True)]
    lines += [f"{_name(pair)}: excluded, fewer than {MIN_SEEDS} seeds" for pair in pairs if pair not in included]
    contradicting = [
        name for name, result, p in zip(names, differences, adjusted, strict=True) if p < LEVEL and result.value < 0
    ]
    return Evidence(
        terms=tuple(_sum_weights(terms)),
        unit=unit,
        pair_lines=tuple(lines),
        merged=tuple(dict.fromkeys(line for same in identical.values() for line in _merged(same))),
        contradicting_pairs=", ".join(contradicting),
        seeds=min(map(_seeds, distinct)),
    )


def _merged(pairs: Sequence[Pair]) -> list[str]:
    """A sentence for each side of identical pairs that has several variants."""
    sides = [list({variant.name: variant for variant in side}.values()) for side in zip(*pairs, strict=True)]
    return [describe_twins(side) for side in sides if len(side) > 1]


def _seeds(pair: Pair) -> int:
    return min(len(variant.runs) for variant in pair)


def _signed(pair: Pair) -> list[tuple[float, Variant]]:
    favoured, rival = pair
    return [(1, favoured), (-1, rival)]


def _name(pair: Pair) -> str:
    favoured, rival = pair
    return f"{favoured.name} against {rival.name}"


def _sum_weights(terms: Sequence[tuple[float, Sample]]) -> list[tuple[float, Sample]]:
    """Each sample once, with the sum of its weights, so that its seeds are drawn once."""
    weights: dict[int, float] = {}
    for weight, sample in terms:
        weights[id(sample)] = weights.get(id(sample), 0.0) + weight
    by_id = {id(sample): sample for _, sample in terms}
    return [(weight, by_id[key]) for key, weight in weights.items()]


def _standardized(difference: Difference) -> float:
    """The difference in units of its margin."""
    return difference.value if difference.low is None else difference.value / (difference.value - difference.low)

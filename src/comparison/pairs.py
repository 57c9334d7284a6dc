"""Pairs of variants that differ in one part alone, and what they show."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from src.comparison.run_statistics import jumps, share_attended
from src.comparison.statistics import LEVEL, MIN_SEEDS, Difference, Sample, estimate_difference, holm
from src.comparison.twins import Twins, merged
from src.comparison.variants import Variant

Pair = tuple[Variant, Variant]  # the one that the claim favours, and its rival
NO_TWINS: Twins = {}


class Unit(NamedTuple):
    """How a difference is written."""

    number: Callable[[float], str]
    sentence: str  # with {} for the number and its interval

    def say(self, found: Difference) -> str:
        value, low, high, _ = found
        between = "" if low is None or high is None else f" ({self.number(low)} to {self.number(high)})"
        return self.sentence.format(self.number(value) + between)


POINTS = Unit(lambda value: f"{100 * value:+.2f}", "{} points of accuracy")
WORDS = Unit(lambda value: f"{100 * value:+.1f}", "{} points in the share of words that the weight spreads over")
TIMES = Unit(lambda value: f"{np.exp(value):.2f}", "from one measurement to the next RNN's norm jumps {} times as far")


class Evidence(NamedTuple):
    """What the runs show of a claim."""

    terms: tuple[tuple[float, Sample], ...]  # whose weighted sum is positive where the claim is right
    unit: Unit
    lines: tuple[str, ...]  # each pair's, with its own interval at 95 %
    merged: tuple[str, ...]  # variants that count once, since their answers are identical
    against: str  # the pairs that clearly show the opposite, "" without any
    seeds: int  # of the variant with fewest
    rivals: tuple[str, ...] = ()  # choices of which `terms` are set against the first, the hardest

    def interval(self, level: float) -> Difference:
        """The sum, and its interval at 1 - level, which holds for the hardest of several rivals too.

        Against the hardest of them a claim is shown as surely as by one test (Berger 1982); that it fails against some
        rival has as many chances as there are rivals, so p and the interval allow for these.
        """
        count = max(1, len(self.rivals))
        value, low, high, p_value = estimate_difference(self.terms, level=level / count)
        if p_value is not None and value < 0:
            p_value = min(1.0, count * p_value)
        return Difference(value, low, high, p_value)

    def numbers(self, interval: Difference) -> str:
        """In words."""
        hardest = f" against {self.rivals[0]}, the hardest of them" if self.rivals else ""
        return self.unit.say(interval) + hardest


def pairs(variants: Sequence[Variant], group: str, ours: Sequence[str], theirs: str) -> list[Pair]:
    """Those of the first choices against those of the second, alike in every other part and option."""

    def rest(variant: Variant) -> dict[str, str]:
        return {key: value for key, value in variant.differs.items() if key != group}

    def alike(one: Variant, other: Variant) -> bool:  # an option that only one of them has is its part's own
        a, b = rest(one), rest(other)
        return all(a[key] == b[key] for key in a.keys() & b.keys())

    return [
        (one, other)
        for other in variants
        for one in variants
        if one.choices.get(group) in ours and other.choices.get(group) == theirs and alike(one, other)
    ]


def estimate_gain(
    variants: Sequence[Variant],
    scores: Mapping[str, Sample],
    group: str,
    ours: Sequence[str],
    theirs: str,
    twins: Twins = NO_TWINS,
) -> Evidence | str:
    """Accuracy of variants with one of our choices above those with theirs."""
    matches = pairs(variants, group, ours, theirs)
    if not matches:
        return f"no two variants differ in {group} alone, one of them with {group}={theirs}"
    return _weighed(matches, scores, POINTS, twins)


def estimate_gain_over_each(
    variants: Sequence[Variant],
    scores: Mapping[str, Sample],
    group: str,
    ours: str,
    rivals: Sequence[str],
    twins: Twins = NO_TWINS,
) -> Evidence | str:
    """Accuracy above each of several rivals: as sure as it is above the hardest of them (Berger 1982)."""
    matches = {rival: pairs(variants, group, [ours], rival) for rival in rivals}
    missing = [rival for rival, known in matches.items() if not known]
    if missing:
        return f"no variant with {group}={ours} has its like with {group}={' or '.join(missing)}"
    each = {rival: _weighed(known, scores, POINTS, twins) for rival, known in matches.items()}
    means = {rival: estimate_difference(evidence.terms) for rival, evidence in each.items()}
    hardest = min(means, key=lambda rival: _sureness(means[rival]))
    return Evidence(
        each[hardest].terms,
        POINTS,
        tuple(f"against {rival}, on average: {POINTS.say(mean)}" for rival, mean in means.items()),
        tuple(dict.fromkeys(line for evidence in each.values() for line in evidence.merged)),
        "",
        min(evidence.seeds for evidence in each.values()),
        tuple(sorted(rivals, key=lambda rival: rival != hardest)),
    )


def estimate_uniformity(variants: Sequence[Variant], twins: Twins = NO_TWINS) -> Evidence | str:
    """The share of a text's words that Luong's dot attention spreads over, above that of Bahdanau's."""
    matches = pairs(variants, "attention", ["luong_dot"], "bahdanau")
    if not matches:
        return "no variant with attention=luong_dot has its like with attention=bahdanau"
    return _of_traits(matches, share_attended, "attention_stats.npz", WORDS, twins)


def estimate_gradient_stability(variants: Sequence[Variant], twins: Twins = NO_TWINS) -> Evidence | str:
    """How much more the gradients of an RNN jump between measurements than those of an LSTM."""
    matches = [*pairs(variants, "encoder", ["lstm"], "rnn"), *pairs(variants, "encoder", ["bilstm"], "birnn")]
    if not matches:
        return "no variant with encoder=lstm (or bilstm) has its like with encoder=rnn (or birnn)"
    return _of_traits(matches, jumps, "gradients.csv", TIMES, twins, sign=-1)


def _of_traits(
    matches: Sequence[Pair],
    trait: Callable[[Path], float | None],
    file: str,
    unit: Unit,
    twins: Twins,
    sign: int = 1,
) -> Evidence | str:
    """As `_weighed`, of a number that each run has by itself; the test texts play no part."""
    scores: dict[str, Sample] = {}
    for variant in {variant.name: variant for pair in matches for variant in pair}.values():
        values = [value for run in variant.runs if (value := trait(run.folder)) is not None]
        if len(values) == len(variant.runs):
            scores[variant.name] = Sample(sign * np.array(values), numbers=tuple(run.seed for run in variant.runs))
    known = [pair for pair in matches if all(variant.name in scores for variant in pair)]
    if not known:
        return f"the runs have no {file} that tells"
    return _weighed(known, scores, unit, twins)


def _weighed(matches: Sequence[Pair], scores: Mapping[str, Sample], unit: Unit, twins: Twins) -> Evidence:
    """The mean over pairs, and each pair; those of few seeds are left out where others have enough.

    Pairs whose variants give the same answers on both sides are one pair.
    """
    few = [pair for pair in matches if _seeds(pair) < MIN_SEEDS]
    enough = [pair for pair in matches if pair not in few] or list(matches)
    alike: dict[tuple[str, ...], list[Pair]] = {}
    for pair in enough:
        alike.setdefault(tuple(twins.get(variant.name, variant.name) for variant in pair), []).append(pair)
    distinct = [max(same, key=_seeds) for same in alike.values()]
    terms = [(weight / len(distinct), scores[variant.name]) for pair in distinct for weight, variant in _signed(pair)]
    each = [
        estimate_difference([(weight, scores[variant.name]) for weight, variant in _signed(pair)]) for pair in distinct
    ]
    adjusted = holm([1.0 if result.p_value is None else result.p_value for result in each])
    names = list(map(_name, distinct))
    lines = [f"{name}: {unit.say(result)}" for name, result in zip(names, each, strict=True)]
    lines += [f"{_name(pair)}: left out, fewer than {MIN_SEEDS} seeds" for pair in matches if pair not in enough]
    against = [name for name, result, p in zip(names, each, adjusted, strict=True) if p < LEVEL and result.value < 0]
    return Evidence(
        terms=tuple(_joined(terms)),
        unit=unit,
        lines=tuple(lines),
        merged=tuple(dict.fromkeys(line for same in alike.values() for line in _merged(same))),
        against=", ".join(against),
        seeds=min(map(_seeds, distinct)),
    )


def _merged(same: Sequence[Pair]) -> list[str]:
    """A sentence for each side of the pairs on which several variants stand."""
    sides = [list({variant.name: variant for variant in side}.values()) for side in zip(*same, strict=True)]
    return [merged(side) for side in sides if len(side) > 1]


def _seeds(pair: Pair) -> int:
    return min(len(variant.runs) for variant in pair)


def _signed(pair: Pair) -> list[tuple[float, Variant]]:
    ours, theirs = pair
    return [(1, ours), (-1, theirs)]


def _name(pair: Pair) -> str:
    ours, theirs = pair
    return f"{ours.name} against {theirs.name}"


def _joined(terms: Sequence[tuple[float, Sample]]) -> list[tuple[float, Sample]]:
    """A sample that stands in several pairs, once, with its weights summed: its seeds are drawn once."""
    weights: dict[int, float] = {}
    for weight, sample in terms:
        weights[id(sample)] = weights.get(id(sample), 0.0) + weight
    by_id = {id(sample): sample for _, sample in terms}
    return [(weight, by_id[key]) for key, weight in weights.items()]


def _sureness(value: Difference) -> float:
    return value.value if value.low is None else value.value / (value.value - value.low)

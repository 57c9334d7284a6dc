"""Pairs of variants that differ in one part alone, and what they show."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from src.comparison.statistics import ENOUGH, LEVEL, Difference, Sample, difference, holm
from src.comparison.traits import jumps, share_attended
from src.comparison.variants import Variant

Pair = tuple[Variant, Variant]  # the one that the claim favours, and its rival


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


class Found(NamedTuple):
    """What the runs show of a claim."""

    value: Difference  # positive where the claim is right
    numbers: str  # the same in words
    lines: tuple[str, ...]  # each pair's
    against: str  # the pairs that clearly show the opposite, "" without any
    seeds: int  # of the variant with fewest


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


def gain(
    variants: Sequence[Variant], scores: Mapping[str, Sample], group: str, ours: Sequence[str], theirs: str
) -> Found | str:
    """Accuracy of variants with one of our choices above those with theirs."""
    found = pairs(variants, group, ours, theirs)
    if not found:
        return f"no two variants differ in {group} alone, one of them with {group}={theirs}"
    return _weighed(found, scores, POINTS)


def gain_over_each(
    variants: Sequence[Variant], scores: Mapping[str, Sample], group: str, ours: str, rivals: Sequence[str]
) -> Found | str:
    """Accuracy above each of several rivals: as sure as it is above the hardest of them (Berger 1982)."""
    found = {rival: pairs(variants, group, [ours], rival) for rival in rivals}
    missing = [rival for rival, held in found.items() if not held]
    if missing:
        return f"no variant with {group}={ours} has its like with {group}={' or '.join(missing)}"
    each = {rival: _weighed(held, scores, POINTS) for rival, held in found.items()}
    hardest = min(each, key=lambda rival: _sureness(each[rival].value))
    return Found(
        each[hardest].value,
        f"{each[hardest].numbers} against {hardest}, the hardest of them",
        tuple(f"against {rival}, on average: {one.numbers}" for rival, one in each.items()),
        "",
        min(one.seeds for one in each.values()),
    )


def evenness(variants: Sequence[Variant]) -> Found | str:
    """The share of a text's words that Luong's dot attention spreads over, above that of Bahdanau's."""
    found = pairs(variants, "attention", ["luong_dot"], "bahdanau")
    if not found:
        return "no variant with attention=luong_dot has its like with attention=bahdanau"
    return _of_traits(found, share_attended, "attention_stats.npz", WORDS)


def steadiness(variants: Sequence[Variant]) -> Found | str:
    """How much more the gradients of an RNN jump between measurements than those of an LSTM."""
    found = [*pairs(variants, "encoder", ["lstm"], "rnn"), *pairs(variants, "encoder", ["bilstm"], "birnn")]
    if not found:
        return "no variant with encoder=lstm (or bilstm) has its like with encoder=rnn (or birnn)"
    return _of_traits(found, jumps, "gradients.csv", TIMES, sign=-1)


def _of_traits(
    found: Sequence[Pair], trait: Callable[[Path], float | None], file: str, unit: Unit, sign: int = 1
) -> Found | str:
    """As `_weighed`, of a number that each run has by itself; the test texts play no part."""
    held: dict[str, Sample] = {}
    for variant in {variant.name: variant for pair in found for variant in pair}.values():
        values = [value for run in variant.runs if (value := trait(run.folder)) is not None]
        if len(values) == len(variant.runs):
            held[variant.name] = Sample(sign * np.array(values))
    known = [pair for pair in found if all(variant.name in held for variant in pair)]
    if not known:
        return f"the runs have no {file} that tells"
    return _weighed(known, held, unit)


def _weighed(found: Sequence[Pair], held: Mapping[str, Sample], unit: Unit) -> Found:
    """The mean over pairs, and each pair; those of few seeds are left out where others have enough."""
    few = [pair for pair in found if min(len(variant.runs) for variant in pair) < ENOUGH]
    kept = [pair for pair in found if pair not in few] or list(found)
    mean = difference(_joined([(weight / len(kept), held[one.name]) for pair in kept for weight, one in _signed(pair)]))
    each = [difference([(weight, held[one.name]) for weight, one in _signed(pair)]) for pair in kept]
    adjusted = holm([1.0 if one.p_value is None else one.p_value for one in each])
    names = list(map(_name, kept))
    lines = [f"{name}: {unit.say(one)}" for name, one in zip(names, each, strict=True)]
    lines += [f"{_name(pair)}: left out, fewer than {ENOUGH} seeds" for pair in found if pair not in kept]
    against = [name for name, one, p in zip(names, each, adjusted, strict=True) if p < LEVEL and one.value < 0]
    seeds = min(len(variant.runs) for pair in kept for variant in pair)
    return Found(mean, unit.say(mean), tuple(lines), ", ".join(against), seeds)


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

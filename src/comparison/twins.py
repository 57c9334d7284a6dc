"""Variants that give identical answers, such as two attentions that are one formula: as evidence they count once."""

from collections.abc import Hashable, Mapping, Sequence

from src.comparison.variants import Variant

Answers = Mapping[int, Hashable]  # seed → what a run answered, or a digest of it
Twins = Mapping[str, str]  # a variant's name → the name of the first variant with its answers


def find_twins(answers: Mapping[str, Answers]) -> dict[str, str]:
    """For each variant, by name, the first that gives the same answers under every seed that both ran.

    Variants without a common seed are no twins: whether they would answer alike is unknown.
    """
    twins: dict[str, str] = {}
    for name, ours in answers.items():
        firsts = (first for first in twins.values() if _identical(ours, answers[first]))
        twins[name] = next(firsts, name)
    return twins


def merged(variants: Sequence[Variant]) -> str:
    """One sentence on twins: "a and b give identical answers under every seed: they count once"."""
    *names, last = [variant.name for variant in variants]
    same = len({tuple(run.seed for run in variant.runs) for variant in variants}) == 1
    which = "every seed" if same else "every seed that they share"
    return f"{', '.join(names)} and {last} give identical answers under {which}: they count once"


def _identical(ours: Answers, theirs: Answers) -> bool:
    shared = ours.keys() & theirs.keys()
    return bool(shared) and all(ours[seed] == theirs[seed] for seed in shared)

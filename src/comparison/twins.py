"""Twins: variants with identical predictions, such as two attentions of one formula; they count once as evidence."""

from collections.abc import Hashable, Mapping, Sequence

from src.comparison.variants import Variant

PredictionDigests = Mapping[int, Hashable]  # seed → digest of a run's predictions
Twins = Mapping[str, str]  # a variant's name → the name of the first variant with the same predictions


def find_twins(digests: Mapping[str, PredictionDigests]) -> dict[str, str]:
    """Map each variant's name to the first variant with the same predictions under every seed that both ran.

    Variants without a common seed are no twins: nothing shows whether their predictions would agree.
    """
    twins: dict[str, str] = {}
    for name, by_seed in digests.items():
        matches = (first for first in twins.values() if _identical(by_seed, digests[first]))
        twins[name] = next(matches, name)
    return twins


def describe_twins(variants: Sequence[Variant]) -> str:
    """One sentence, such as "a and b have identical predictions under every seed: they count once"."""
    *names, last = [variant.name for variant in variants]
    same_seeds = len({tuple(run.seed for run in variant.runs) for variant in variants}) == 1
    seeds = "every seed" if same_seeds else "every seed that they share"
    return f"{', '.join(names)} and {last} have identical predictions under {seeds}: they count once"


def _identical(digests: PredictionDigests, others: PredictionDigests) -> bool:
    shared = digests.keys() & others.keys()
    return bool(shared) and all(digests[seed] == others[seed] for seed in shared)

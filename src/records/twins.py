"""Twins: variants with identical predictions, for example because their attention mechanisms have the same formula."""

from collections.abc import Hashable, Mapping, Sequence

from src.records.variants import Variant

PredictionDigests = Mapping[int, Hashable]  # seed → digest of the predictions of the run with this seed
Twins = Mapping[str, str]  # a variant's name → the name of the first variant with the same predictions


def find_twins(digests: Mapping[str, PredictionDigests]) -> dict[str, str]:
    """Map each variant's name to the name of the first variant with the same predictions under all common seeds.

    The first of several twins and a variant without twins map to themselves. Variants without a common seed are not
    twins.
    """
    twins: dict[str, str] = {}
    for name, by_seed in digests.items():
        matching = (first for first in twins.values() if _are_identical(by_seed, digests[first]))
        twins[name] = next(matching, name)
    return twins


def twin_names(variants: Sequence[Variant], twins: Twins) -> tuple[str, ...]:
    """Return the name of each variant's first twin, or the variant's own name if it has no twin."""
    return tuple(twins.get(variant.name, variant.name) for variant in variants)


def describe_twins(variants: Sequence[Variant]) -> str:
    """Describe twins, as in "a and b have identical predictions under every seed …"; "" for a single variant."""
    *names, last = dict.fromkeys(variant.name for variant in variants)
    same_seeds = len({variant.seeds for variant in variants}) == 1
    seeds = "every seed" if same_seeds else "every seed that they share"
    return f"{', '.join(names)} and {last} have identical predictions under {seeds}: they count once" if names else ""


def _are_identical(digests: PredictionDigests, others: PredictionDigests) -> bool:
    shared = digests.keys() & others.keys()
    return bool(shared) and all(digests[seed] == others[seed] for seed in shared)

"""The head of the comparison page: its title, and facts about the runs."""

from collections.abc import Iterable
from typing import TypeVar

from src.records.variants import Variant
from src.reports.tables import UNKNOWN
from src.terms.comparison import Comparison

Number = TypeVar("Number", int, str)


def factors(comparison: Comparison) -> dict[str, list[str]]:
    """Map each component and option in which the variants differ to its values, in the order of the runs."""
    variants = sorted(comparison.variants, key=lambda variant: variant.runs[0].started)
    names = dict.fromkeys(name for variant in variants for name in variant.differs)
    values = {name: list(dict.fromkeys(factor_value(variant, name) for variant in variants)) for name in names}
    return {name: levels for name, levels in values.items() if len(levels) > 1}


def factor_value(variant: Variant, factor: str) -> str:
    """Return the variant's value of a component or option; UNKNOWN if the variant has no such option."""
    return variant.differs.get(factor, UNKNOWN)


def title(comparison: Comparison) -> str:
    variants = len(comparison.rows)
    if variants == 1:
        return comparison.variants[0].name
    return f"{variants} variants of {' × '.join(factors(comparison))}"


def facts(comparison: Comparison) -> dict[str, str]:
    """Return facts about the runs, such as data, seeds, machines and dates, by heading."""
    runs = [run for variant in comparison.variants for run in variant.runs]
    results = [run.result for run in runs]
    entries: dict[str, str] = {
        "Data": _listed(result.choices.get("data", "unknown") for result in results),
        "Texts": ", ".join(f"{size:,} {split}" for split, size in results[0].data.sizes.items()),
        "Classes": ", ".join(comparison.class_names),
        "Seeds": _seeds(comparison),
        **({"Folds": str(comparison.folds)} if comparison.folds > 1 else {}),
        "Epochs": _range(len(result.seconds.per_epoch) for result in results),
        "Machine": _listed(f"{result.device or 'unknown'}, {result.precision or ''}" for result in results),
        "Date": _range(run.started[:10] for run in runs),
    }
    if commits := {result.git_commit[:10] for result in results if result.git_commit}:
        entries["Commit"] = ", ".join(sorted(commits))
    return entries


def _seeds(comparison: Comparison) -> str:
    seeds_by_variant = {variant.seeds for variant in comparison.variants}
    if len(seeds_by_variant) == 1:
        seeds = next(iter(seeds_by_variant))
        is_consecutive = len(seeds) > 2 and list(seeds) == list(range(seeds[0], seeds[-1] + 1))
        return f"{seeds[0]} to {seeds[-1]}" if is_consecutive else ", ".join(map(str, seeds))
    return f"{_range(len(seeds) for seeds in seeds_by_variant)} per variant"


def _range(values: Iterable[Number]) -> str:
    ordered = sorted(set(values))
    return str(ordered[0]) if len(ordered) == 1 else f"{ordered[0]} to {ordered[-1]}"


def _listed(values: Iterable[str]) -> str:
    return ", ".join(dict.fromkeys(values))

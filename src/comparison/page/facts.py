"""What was compared: the head of the page."""

import shlex
from collections.abc import Iterable
from typing import TypeVar

from src.comparison.comparison import Comparison
from src.comparison.page.names import label
from src.comparison.variants import Variant
from src.reports.page.formatting import format_count
from src.reports.page.html import Inside, join, tag
from src.reports.tables import UNKNOWN

Number = TypeVar("Number", int, str)


def factors(comparison: Comparison) -> dict[str, list[str]]:
    """What the variants differ in: each factor with its values, in the order in which they were run."""
    variants = sorted(comparison.variants, key=lambda variant: variant.runs[0].result["started"])
    names = dict.fromkeys(name for variant in variants for name in variant.differs)
    values = {name: list(dict.fromkeys(value(variant, name) for variant in variants)) for name in names}
    return {name: held for name, held in values.items() if len(held) > 1}


def value(variant: Variant, factor: str) -> str:
    """What the variant has there; a dash where its other parts leave nothing to choose."""
    return variant.differs.get(factor, UNKNOWN)


def title(comparison: Comparison) -> str:
    variants = len(comparison.rows)
    if variants == 1:
        return comparison.variants[0].name
    return f"{variants} variants of {' × '.join(factors(comparison))}"


def lede(comparison: Comparison) -> Inside:
    """One sentence of what was done."""
    runs = sum(len(variant.runs) for variant in comparison.variants)
    known = f"{label(comparison.metric)} on {format_count(comparison.texts, 'test text')}"
    if len(comparison.rows) == 1:
        return f"{format_count(runs, 'run')}, {known}."
    said = f"{format_count(runs, 'run')}, ranked by {known}."
    return join(said, " Differences are to the baseline, ", tag("strong", comparison.baseline.variant.name), ".")


def facts(comparison: Comparison) -> dict[str, Inside]:
    """Data, texts, seeds, machines and dates."""
    runs = [run for variant in comparison.variants for run in variant.runs]
    results = [run.result for run in runs]
    first = results[0]["data"]
    held: dict[str, Inside] = {
        "Data": _named(result["choices"].get("data", "unknown") for result in results),
        "Texts": ", ".join(f"{first[split]:,} {split}" for split in ("train", "val", "test") if split in first),
        "Classes": ", ".join(comparison.class_names),
        "Seeds": _seeds(comparison),
        "Epochs": _spread(len(result["seconds"]["per_epoch"]) for result in results),
        "Machine": _named(f"{result.get('device', 'unknown')}, {result.get('precision', '')}" for result in results),
        "Run": _spread(result["started"][:10] for result in results),
    }
    if commits := {str(result["git_commit"])[:10] for result in results if result.get("git_commit")}:
        held["Commit"] = ", ".join(sorted(commits))
    if comparison.failed:
        held["Not compared"] = tag("a", format_count(len(comparison.failed), "folder"), href="#failures")
    folders = shlex.join(map(str, comparison.folders))
    held["Made by"] = tag("code", f"python -m src.compare {folders}")
    return held


def _seeds(comparison: Comparison) -> str:
    each = {tuple(run.seed for run in variant.runs) for variant in comparison.variants}
    if len(each) == 1:
        seeds = next(iter(each))
        in_row = len(seeds) > 2 and list(seeds) == list(range(seeds[0], seeds[-1] + 1))
        return f"{seeds[0]} to {seeds[-1]}" if in_row else ", ".join(map(str, seeds))
    return f"{_spread(len(seeds) for seeds in each)} a variant"


def _spread(values: Iterable[Number]) -> str:
    held = sorted(set(values))
    return str(held[0]) if len(held) == 1 else f"{held[0]} to {held[-1]}"


def _named(values: Iterable[str]) -> str:
    return ", ".join(dict.fromkeys(values))

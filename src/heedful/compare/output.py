"""The files of a comparison: page, Markdown, and a CSV table with all numbers in full precision."""

from collections.abc import Iterable, Iterator
from typing import Any, TypeVar

from heedful.base.files import csv_line
from heedful.base.formatting import format_count
from heedful.compare.sections import factors, sections
from heedful.compare.verdict import comparison_verdict
from heedful.report.html import render_html
from heedful.report.markdown import render_markdown
from heedful.report.section import Section
from heedful.terms.comparison import Comparison, Row
from heedful.terms.measurements import label

Number = TypeVar("Number", int, str)


def comparison_files(comparison: Comparison, parts: list[Section] | None = None) -> dict[str, str]:
    """Return the content of each file by its name; None computes the sections."""
    parts = sections(comparison) if parts is None else parts
    return {
        "comparison.md": render_markdown("Comparison", comparison_verdict(comparison), parts),
        "comparison.csv": render_csv(comparison),
        "comparison.html": render_page(comparison, parts),
    }


def render_page(comparison: Comparison, parts: list[Section] | None = None) -> str:
    variants = comparison.variants
    branches = {variant.runs[0].result.branch for variant in variants}
    title = f"{len(variants)} variants of {' × '.join(factors(comparison))}"
    title += f" + {branches.pop()} branch" if len(branches) == 1 and "" not in branches else ""
    if len(variants) == 1:
        title = variants[0].name
    parts = sections(comparison) if parts is None else parts
    return render_html(title, comparison_verdict(comparison), _facts(comparison), parts)


def render_csv(comparison: Comparison) -> str:
    """Render a CSV table for other programs: a line for each variant, with all numbers in full precision."""
    rows = [dict(_csv_cells(row, comparison)) for row in comparison.rows]
    columns = list(dict.fromkeys(column for row in rows for column in row))
    return csv_line(columns) + "".join(csv_line(row.get(column) for column in columns) for row in rows)


def _csv_cells(row: Row, comparison: Comparison) -> Iterator[tuple[str, object]]:
    yield "variant", row.variant.name
    yield "seeds", " ".join(map(str, row.variant.seeds))
    for name, interval in row.metrics.items():
        yield from _with_bounds(name, interval)
    yield f"{comparison.metric}_ensemble", row.ensemble
    yield "parameters", row.variant.runs[0].parameters
    yield "peak_memory_mb", row.peak_memory_mb
    yield "baseline", comparison.baseline.variant.name
    yield from _with_bounds(f"{comparison.metric}_difference", row.difference)
    if comparison.folds > 1:
        yield from _with_bounds(f"{comparison.metric}_difference_over_texts", row.over_texts)
        yield "p_over_texts", row.over_texts and row.over_texts.p_value
    yield "p", row.difference and row.difference.p_value
    yield "p_holm", row.p_adjusted
    yield "verdict", row.verdict


def _with_bounds(name: str, interval: tuple[Any, ...] | None) -> Iterator[tuple[str, float | None]]:
    yield from zip((name, f"{name}_low", f"{name}_high"), (interval or (None, None, None))[:3], strict=True)


def _facts(comparison: Comparison) -> dict[str, str]:
    """Return facts about the runs, such as data, seeds, machines and dates, by heading."""
    runs = [run for variant in comparison.trained for run in variant.runs]
    results = [run.result for run in runs]
    ranked = f", ranked by {label(comparison.metric)}" if len(comparison.rows) > 1 else ""
    return {
        "Runs": f"{len(runs)}{ranked} on {format_count(comparison.texts, 'test text')}",
        "Data": _listed(result.choices.get("data", "unknown") for result in results),
        "Texts": ", ".join(f"{size:,} {split}" for split, size in results[0].data.sizes.items()),
        "Classes": ", ".join(comparison.class_names),
        "Seeds": _listed(str(seed) for seed in sorted({run.seed for run in runs})),
        "Folds": str(comparison.folds) if comparison.folds > 1 else "",
        "Epochs": _range(len(result.seconds.per_epoch) for result in results),
        "Machine": _listed(f"{result.device or 'unknown'}, {result.precision or ''}" for result in results),
        "Date": _range(run.started[:10] for run in runs),
        "Commit": ", ".join(sorted({result.git_commit[:10] for result in results if result.git_commit})),
        "Command": comparison.command,
    }


def _range(values: Iterable[Number]) -> str:
    ordered = sorted(set(values))
    return str(ordered[0]) if len(ordered) == 1 else f"{ordered[0]} to {ordered[-1]}"


def _listed(values: Iterable[str]) -> str:
    return ", ".join(dict.fromkeys(values))

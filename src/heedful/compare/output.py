"""The files of a comparison: page, Markdown, and a CSV table with all numbers in full precision."""

from collections.abc import Iterator, Sequence
from typing import Any

from heedful.base.files import csv_line
from heedful.compare.page import render_page
from heedful.compare.sections import sections
from heedful.compare.verdict import comparison_verdict
from heedful.report.markdown import render_markdown
from heedful.report.section import Section
from heedful.terms.comparison import Comparison, Row


def comparison_files(comparison: Comparison, parts: Sequence[Section] = ()) -> dict[str, str]:
    """Return the content of each file by its name; without sections, they are computed."""
    parts = parts or sections(comparison)
    return {
        "comparison.md": render_markdown("Comparison", comparison_verdict(comparison), parts),
        "comparison.csv": render_csv(comparison),
        "comparison.html": render_page(comparison, parts),
    }


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

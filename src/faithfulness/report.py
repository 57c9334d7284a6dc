"""Render a measurement for the terminal and as Markdown and CSV."""

import csv
import io

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from src.compare.sections import Section
from src.compare.tables import MARKDOWN_ESCAPES, markdown_table
from src.faithfulness import tables
from src.faithfulness.names import ATTENTION
from src.faithfulness.page import render_html
from src.faithfulness.tables import NOTE, Report
from src.reports.page.formatting import MINUS

MAX_COLUMNS = 6  # maximum number of measures in a table of 100 characters


def render_terminal(report: Report) -> RenderableType:
    """Render the tables and the claims for a terminal of 100 columns, where tables have no room for intervals."""
    parts: list[RenderableType] = []
    for summary in report.summaries:
        measured, title = tables.measured_columns([summary]), tables.title_of(report, summary)
        for start in range(0, len(measured), MAX_COLUMNS):
            columns = measured[start : start + MAX_COLUMNS]
            signs = ["+" if column.faithful_values == "high" else MINUS for column in columns]
            heads = ["", *(f"{column.short} ({sign})" for column, sign in zip(columns, signs, strict=True))]
            rows = []
            for ranking in summary.rankings:
                estimates = [summary.measures.get((ranking, column.name)) for column in columns]
                rows.append([ranking, *(tables.format_estimate(estimate, margin=False) for estimate in estimates)])
            is_last = start + MAX_COLUMNS >= len(measured)
            parts += _table(Section(title, heads, rows, tables.remarks(report, summary) if is_last else ""))
    legend = (
        f"(+): faithful rankings have high values; ({MINUS}): they have low values. The files contain the intervals."
    )
    parts += [Text(f"{NOTE} {legend}"), Text()]
    for section in tables.variant_sections(report, margin=False):
        parts += _table(section)
    for title, _, rows, note in tables.claim_sections(report):
        parts.append(Text(title, style="bold"))
        parts += [Text(f"  {text}: {verdict}. {', '.join(filter(None, facts))}") for text, verdict, *facts in rows]
        parts += [Text(note), Text()]
    parts += [Text(f"  {run.folder}: {run.status}: {run.error}", overflow="fold") for run in report.excluded]
    return Group(*parts)


def _table(section: Section) -> list[RenderableType]:
    table = Table(title=Text(section.title, style="bold"), box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    table.title_justify = "left"
    for number, head in enumerate(section.head):
        table.add_column(head, justify="right" if number else "left", no_wrap=not number)
    for row in section.rows:
        table.add_row(*map(Text, row))
    return [table, *([Text(section.note), Text()] if section.note else [])]


def render_markdown(report: Report) -> str:
    """Render all tables as Markdown."""
    blocks = ["# Faithfulness", f"`{report.command}`", NOTE.translate(MARKDOWN_ESCAPES)]
    for title, head, rows, note in tables.sections(report):
        blocks += [f"## {title.translate(MARKDOWN_ESCAPES)}", markdown_table(head, rows)]
        blocks += filter(None, [note.translate(MARKDOWN_ESCAPES)])
    if report.excluded:
        lines = [f"- {run.folder}: {run.status}: {run.error}".translate(MARKDOWN_ESCAPES) for run in report.excluded]
        blocks += ["## Not measured", "\n".join(lines)]
    return "\n\n".join(blocks) + "\n"


def render_csv(report: Report) -> str:
    """Render a CSV table: one line for each variant, ranking and measure, with every number in full precision.

    Measures of the whole model have the ranking `attention`.
    """
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    bounds = ("value", "low", "high", "minus_random", "minus_random_low", "minus_random_high", "p_random")
    writer.writerow(["variant", "seeds", "texts", "ranking", "measure", *bounds])
    for summary in report.summaries:
        estimates = [(ranking, name, estimate) for (ranking, name), estimate in summary.measures.items()]
        estimates += [(ATTENTION, name, estimate) for name, estimate in summary.without_ranking.items()]
        for ranking, name, estimate in estimates:
            numbers = [*estimate.interval, *(estimate.against_random or [None] * 4)]
            writer.writerow([summary.variant.name, summary.seeds, estimate.texts, ranking, name, *numbers])
    return out.getvalue()


FILES = {"faithfulness.md": render_markdown, "faithfulness.csv": render_csv, "faithfulness.html": render_html}

"""Render a comparison for the terminal, and as Markdown, LaTeX and CSV."""

import csv
import io
from collections.abc import Iterator, Sequence

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from src.compare.formatting import claim_lines
from src.compare.page import render
from src.compare.sections import RULES, sections
from src.terms.comparison import Comparison, Row
from src.terms.intervals import Interval

MARKDOWN_ESCAPES = str.maketrans({"|": r"\|", "\\": r"\\", "<": "&lt;", "*": r"\*", "`": r"\`", "\n": " "})
LATEX_ESCAPES = str.maketrans(
    {letter: f"\\{letter}" for letter in "&%$#_{}"}
    | {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "\n": " "}
    | {"<": r"$<$", ">": r"$>$", "±": r"$\pm$", "·": r"$\cdot$", "×": r"$\times$", "–": "--", "…": r"\ldots{}"}
)


def render_terminal(comparison: Comparison) -> RenderableType:
    """Render the tables, the claims and the excluded runs for the terminal, readable without colour."""
    parts: list[RenderableType] = []
    for title, head, rows, note in sections(comparison):
        table = Table(title=Text(title, style="bold"), caption=Text(note), box=box.SIMPLE_HEAD, collapse_padding=True)
        table.title_justify = table.caption_justify = "left"
        for column in head:
            table.add_column(column, justify="left" if column in ("variant", "verdict") else "right")
        for row in rows:
            table.add_row(*map(Text, row))
        parts += [table, Text()]
    if comparison.claims:
        claims = Table("claim", "verdict", "", title=Text("Claims", style="bold"), caption=Text(RULES))
        claims.box, claims.title_justify, claims.caption_justify = box.SIMPLE_HEAD, "left", "left"
        for claim in comparison.claims:
            claims.add_row(*map(Text, (claim.definition.claim, claim.verdict, claim_lines(claim)[0])))
        notes = dict.fromkeys(line for claim in comparison.claims for line in claim.notes)
        parts += [claims, *(Text(f"  {line}", overflow="fold") for line in notes), Text()]
    if comparison.excluded:
        parts.append(Text("Not compared", style="bold"))
        parts += [Text(f"  {run}", overflow="fold") for run in comparison.excluded]
    return Group(*parts)


def render_markdown(comparison: Comparison) -> str:
    """Render all tables, the claims with their evidence, and the excluded runs as Markdown."""
    blocks = ["# Comparison"]
    for title, head, rows, note in sections(comparison):
        blocks += [f"## {title.translate(MARKDOWN_ESCAPES)}", markdown_table(head, rows), note]
    if comparison.claims:
        blocks += ["## Claims", RULES]
        for claim in comparison.claims:
            text, source = (
                words.translate(MARKDOWN_ESCAPES) for words in (claim.definition.claim, claim.definition.source)
            )
            blocks += [f"**{text}**: {claim.verdict}. ({source})"]
            blocks += ["\n".join(f"- {line.translate(MARKDOWN_ESCAPES)}" for line in claim_lines(claim))]
    if comparison.excluded:
        escapes = {**MARKDOWN_ESCAPES, ord("\\"): "\\"}  # paths keep their backslashes
        blocks += ["## Not compared", "\n".join(f"- {run}".translate(escapes) for run in comparison.excluded)]
    return "\n\n".join(blocks) + "\n"


def markdown_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a Markdown table with escaped cells; the columns after the first are right-aligned."""
    lines = [" | ".join(cell.translate(MARKDOWN_ESCAPES) for cell in line) for line in (head, *rows)]
    lines.insert(1, " | ".join(["---", *["---:"] * (len(head) - 1)]))
    return "\n".join(f"| {line} |" for line in lines)


def render_latex(comparison: Comparison) -> str:
    """Render the tables as LaTeX floats that require no packages."""
    blocks = []
    for title, head, rows, note in sections(comparison):
        first, *body = (" & ".join(cell.translate(LATEX_ESCAPES) for cell in line) + r" \\" for line in (head, *rows))
        blocks.append(
            "\n".join(
                [
                    r"\begin{table}",
                    rf"\caption{{{title.translate(LATEX_ESCAPES)}. {note.translate(LATEX_ESCAPES)}}}",
                    rf"\begin{{tabular}}{{l{'r' * (len(head) - 1)}}}",
                    *(r"\hline", first, r"\hline", *body, r"\hline"),
                    r"\end{tabular}",
                    r"\end{table}",
                ]
            )
        )
    return "\n\n".join(blocks) + "\n"


def render_csv(comparison: Comparison) -> str:
    """Render a CSV table for other programs: a line for each variant, with all numbers in full precision."""
    lines = [dict(_csv_cells(row, comparison)) for row in comparison.rows]
    out = io.StringIO()
    writer = csv.DictWriter(out, list(dict.fromkeys(key for line in lines for key in line)), lineterminator="\n")
    writer.writeheader()
    writer.writerows(lines)
    return out.getvalue()


def _csv_cells(row: Row, comparison: Comparison) -> Iterator[tuple[str, object]]:
    yield "variant", row.variant.name
    yield "seeds", " ".join(map(str, row.variant.seeds))
    for name, interval in row.metrics.items():
        yield from _with_bounds(name, interval)
    yield f"{comparison.metric}_ensemble", row.ensemble
    yield "parameters", row.parameters
    yield from _with_bounds("seconds_per_epoch", row.seconds_per_epoch)
    yield "peak_memory_mb", row.peak_memory_mb
    yield "baseline", comparison.baseline.variant.name
    yield from _with_bounds(f"{comparison.metric}_difference", row.difference)
    yield "p", row.p_value
    yield "p_holm", row.p_adjusted
    yield "mcnemar_found", row.mcnemar and row.mcnemar[0]
    yield "mcnemar_of", row.mcnemar and row.mcnemar[1]
    yield "verdict", row.verdict
    for name, interval in row.faithfulness.items():
        yield from _with_bounds(name, interval)


def _with_bounds(name: str, interval: Interval | None) -> Iterator[tuple[str, float | None]]:
    yield from zip((name, f"{name}_low", f"{name}_high"), interval or (None, None, None), strict=True)


FILES = {
    "comparison.md": render_markdown,
    "comparison.csv": render_csv,
    "comparison.tex": render_latex,
    "comparison.html": render,
}

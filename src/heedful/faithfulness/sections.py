"""The sections and the CSV table of a measurement."""

from collections.abc import Sequence

from heedful.base.files import csv_line
from heedful.base.formatting import format_count
from heedful.faithfulness.measurement import Report
from heedful.faithfulness.rankings import TOLERANCE, is_inexact
from heedful.faithfulness.summary import Estimate, VariantSummary
from heedful.faithfulness.verdict import faithfulness_verdict, main_column
from heedful.report.html import render_html
from heedful.report.markdown import render_markdown
from heedful.report.numbers import UNKNOWN, format_with_margin
from heedful.report.section import Dot, Dots, Section, Table
from heedful.runs.faithfulness_record import ATTENTION, RANDOM
from heedful.terms.intervals import MIN_SEEDS

NOTE = (
    "Means over seeds and texts ± the half-width of their 95 % interval, which accounts for the variation of seeds and "
    "texts, or of texts alone if there is one seed. *: the value differs from that of the random ranking (unadjusted p "
    "below 5 %). Comprehensiveness and sufficiency: the drop in the predicted class's probability without the top 1, "
    "5, 10, 20 and 50 % of the tokens, and with only these tokens; means over the five shares. Normalized: 0 is the "
    "lowest and 1 the highest value that a search over rankings reaches."
)


MAX_OPEN = 3  # maximum number of variants whose rankings are not folded


def faithfulness_files(report: Report, parts: Sequence[Section]) -> dict[str, str]:
    counts = (len(report.summaries), sum(summary.seeds for summary in report.summaries), report.texts)
    facts = {
        "Measured": ", ".join(map(format_count, counts, ("variant", "run", "test text"))),
        "Command": report.command,
    }
    verdict = faithfulness_verdict(report.summaries)
    return {
        "faithfulness.md": render_markdown("Faithfulness", verdict, parts),
        "faithfulness.csv": render_csv(report),
        "faithfulness.html": render_html("Faithfulness of attention", verdict, facts, parts),
    }


def sections(report: Report) -> list[Section]:
    """Return the variants on one axis, and the rankings of each variant."""
    excluded = [[str(run.folder), run.status, run.error] for run in report.excluded]
    parts = [
        _variants(report),
        *(_rankings(report, summary) for summary in report.summaries),
        Section("Not measured", [Table(["folder", "status", "reason"], excluded)] if excluded else []),
    ]
    return [part for part in parts if part.content]


def _variants(report: Report) -> Section:
    """Return attention in each variant, the highest value first."""
    column = main_column(report.summaries)
    if column is None or len(report.summaries) < 2:
        return Section("Variants", [])
    measured = [(s.variant.name, s.measures.get((ATTENTION, column.name))) for s in report.summaries]
    dots = [Dot(name, *estimate.interval[:3]) for name, estimate in measured if estimate]
    dots.sort(key=lambda dot: -(dot.value or 0.0))
    ends = [end for dot in dots for end in (dot.value, dot.low, dot.high, 0.0) if end is not None]
    title = f"{column.heading.capitalize()} of attention, with 95 % intervals"
    note = "The verdict counts the variants with trained attention."
    axis = (min(ends), max(ends))
    return Section("Variants", [Dots(dots, title, axis, False, ("variant", "mark"))] if dots else [], note)


def _rankings(report: Report, summary: VariantSummary) -> Section:
    title = f"{summary.variant.name}: {format_count(summary.seeds, 'seed')}, {format_count(report.texts, 'text')}"
    columns = summary.columns
    rows = [
        [ranking, *(format_estimate(summary.measures.get((ranking, column.name))) for column in columns)]
        for ranking in summary.rankings
    ]
    table = Table(["ranking", *(f"{column.heading} ({column.faithful_values})" for column in columns)], rows)
    note = f"{NOTE} {remarks(report, summary)}".strip()
    return Section(title, [table] if columns else [], note, is_folded=len(report.summaries) > MAX_OPEN)


def remarks(report: Report, summary: VariantSummary) -> str:
    """Return sentences about the limitations of a variant's table."""
    parts = []
    if summary.seeds < MIN_SEEDS:
        parts.append(f"Exploratory: fewer than {MIN_SEEDS} seeds.")
    estimate = summary.measures.get((RANDOM, "normalized_comprehensiveness"))
    if estimate is not None and estimate.texts < report.texts:
        undefined = format_count(report.texts - estimate.texts, "text")
        parts.append(f"Normalized comprehensiveness excludes {undefined} whose lowest and highest values coincide.")
    errors = [is_inexact(record.arrays["integral_error"]).sum() for record in summary.records]
    if inexact := int(max(errors)):
        texts = format_count(inexact, "text")
        parts.append(f"Integrated gradients are inexact by more than {TOLERANCE} for up to {texts} per seed.")
    if skipped := max(record.options.skipped for record in summary.records):
        parts.append(f"Omitted for each seed: up to {format_count(skipped, 'text')} without a known token.")
    return " ".join(parts)


def format_estimate(estimate: Estimate | None) -> str:
    """Format as "0.412 ± 0.021*"; return UNKNOWN for None."""
    if estimate is None:
        return UNKNOWN
    difference = estimate.against_random
    differs = difference is not None and difference.p_value is not None and difference.p_value < 0.05
    return format_with_margin(estimate.interval) + "*" * differs


def render_csv(report: Report) -> str:
    """Render a CSV table: one line for each variant, ranking and measure, with every number in full precision."""
    bounds = ("value", "low", "high", "minus_random", "minus_random_low", "minus_random_high", "p_random")
    lines = [csv_line(["variant", "seeds", "texts", "ranking", "measure", *bounds])]
    for summary in report.summaries:
        for (ranking, name), estimate in summary.measures.items():
            numbers = [*estimate.interval[:3], *(estimate.against_random or [None] * 4)]
            lines.append(csv_line([summary.variant.name, summary.seeds, estimate.texts, ranking, name, *numbers]))
    return "".join(lines)

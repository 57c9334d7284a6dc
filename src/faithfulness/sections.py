"""The sections and the CSV table of a measurement."""

from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter

from src.faithfulness.claims import judge_rankings
from src.faithfulness.measurement import Report
from src.faithfulness.rankings import TOLERANCE, is_inexact
from src.faithfulness.summary import Estimate, VariantSummary
from src.files import csv_line
from src.formatting import UNKNOWN, format_count, format_with_margin
from src.records.faithfulness import AGREEMENT, ATTENTION, COLUMNS, RANDOM, SHARES, Column, Record
from src.report.figures.comparison import Bar, draw_intervals
from src.report.figures.style import COLOURS, GREY, name_axes, new_figure
from src.report.html import render_html
from src.report.markdown import render_markdown
from src.report.section import Chart, Content, Group, Section, Strip, Table
from src.report.words import Word
from src.terms.intervals import MIN_SEEDS, Interval

NOTE = (
    "Means over seeds and texts ± the half-width of their 95 % interval, which accounts for the variation of seeds and "
    "texts, or of texts alone if there is one seed. *: the value differs from that of the random ranking (unadjusted p "
    "below 5 %). Comprehensiveness and sufficiency: the drop in the predicted class's probability without the top 1, "
    "5, 10, 20 and 50 % of the tokens, and with only these tokens; means over the five shares. Normalized: 0 is the "
    "lowest and 1 the highest value that a search over rankings reaches."
)
AGREEMENT_NOTE = (
    "A replication of Jain and Wallace (2019), not a verdict: Kendall's τ between attention and the absolute values of "
    "gradient × input and of leave-one-out."
)
CLAIMS_NOTE = (
    "Mean differences over the variants with trained attention, with 95 % intervals. The p-value after Holm's "
    "adjustment for the number of claims decides the verdict, which needs five seeds."
)
CURVES_NOTE = (
    "The mean probability of the class that is predicted for the whole text, after the tokens with the highest ranks "
    "are removed. With a faithful ranking, the probability falls early. The bands are 95 % intervals over seeds and "
    "texts; the dashed line is the probability for whole texts."
)
TEXTS_NOTE = (
    "Test texts with the scores of their words, from the run with the variant's first seed. The stronger the colour of "
    "a word, the larger its score for the predicted class; the full colour marks the largest score of the text, and "
    "negative scores have no colour. Point at a word to show its rank and score."
)
# the charts show the first of these measures that was computed
CHARTED = ("normalized_comprehensiveness", "comprehensiveness_removal")


def faithfulness_files(report: Report, parts: Sequence[Section]) -> dict[str, str]:
    """Return the content of each file by its name."""
    counts = (len(report.summaries), sum(summary.seeds for summary in report.summaries), report.texts)
    lede = ", ".join(map(format_count, counts, ("variant", "run", "test text"))) + "."
    if report.is_exploratory:
        lede += f" Exploratory: fewer than {MIN_SEEDS} seeds."
    facts = {"Command": report.command}
    return {
        "faithfulness.md": render_markdown("Faithfulness", parts),
        "faithfulness.csv": render_csv(report),
        "faithfulness.html": render_html("Faithfulness of attention", lede, facts, parts),
    }


def sections(report: Report) -> list[Section]:
    """Return the rankings of each variant, the claims, the agreement of attention, curves and example texts."""
    parts = [_forest(report), *(_rankings(report, summary) for summary in report.summaries)]
    parts += [_claims(report), _agreement(report)]
    curves = [
        Chart(f"removal_{n}", _draw_curves(s), f"Probability by share of tokens removed, {s.variant.name}")
        for n, s in enumerate(report.summaries)
        if s.curves
    ]
    texts = [Group(s.variant.name, _texts(s.records[0]), is_open=False) for s in report.summaries]
    excluded = [[str(run.folder), run.status, run.error] for run in report.excluded]
    parts += [
        Section("Probability against share of tokens removed", curves, CURVES_NOTE),
        Section("Rankings of the same texts", [text for text in texts if text.content], TEXTS_NOTE),
        Section("Not measured", [Table(["folder", "status", "reason"], excluded)] if excluded else []),
    ]
    return [part for part in parts if part.content]


def _charted(summaries: Sequence[VariantSummary]) -> Column | None:
    return next((column for column in measured_columns(summaries) if column.name in CHARTED), None)


def _bar(name: str, summary: VariantSummary, ranking: str, column: Column, colour: str) -> Bar | None:
    estimate = summary.measures.get((ranking, column.name))
    if estimate is None:
        return None
    value, *bounds = estimate.interval
    # intervals from two seeds can extend far beyond the range of the measure
    lowest = 0 if column.name.startswith("normalized") else -1
    low, high = (None if bound is None else float(np.clip(bound, lowest, 1)) for bound in bounds)
    return Bar(name, Interval(value, low, high), colour)


def _forest(report: Report) -> Section:
    """Return a chart of the charted measure of attention in each variant, the highest value first."""
    column = _charted(report.summaries)
    if column is None or len(report.summaries) < 2:
        return Section("Variants", [])
    bars = [_bar(s.variant.name, s, ATTENTION, column, COLOURS[0]) for s in report.summaries]
    shown = sorted((bar for bar in bars if bar), key=lambda bar: -bar.interval.value)
    figure = draw_intervals(shown, f"{column.heading.capitalize()} of attention", column.heading)
    chart = Chart("variants", figure, f"{column.heading} of attention in each variant")
    return Section("Variants", [chart] if shown else [], "Attention in each variant, with 95 % intervals.")


def _rankings(report: Report, summary: VariantSummary) -> Section:
    """Return the table of the rankings of a variant, and a chart of the charted measure."""
    title = f"{summary.variant.name}: {format_count(summary.seeds, 'seed')}, {format_count(report.texts, 'text')}"
    columns = measured_columns([summary])
    if not columns:
        return Section(title, [])
    rows = [
        [ranking, *(format_estimate(summary.measures.get((ranking, column.name))) for column in columns)]
        for ranking in summary.rankings
    ]
    content: list[Content] = []
    if column := _charted([summary]):
        colours = {ATTENTION: COLOURS[0]}
        bars = [_bar(name, summary, name, column, colours.get(name, GREY)) for name in summary.rankings]
        figure = draw_intervals([bar for bar in bars if bar], column.heading.capitalize(), column.heading)
        content.append(Chart(f"rankings_{report.summaries.index(summary)}", figure, f"{column.heading} by ranking"))
    head = ["ranking", *(f"{column.heading} ({column.faithful_values})" for column in columns)]
    return Section(title, [*content, Table(head, rows)], f"{NOTE} {remarks(report, summary)}".strip())


def _claims(report: Report) -> Section:
    """Return the table of claims."""
    claims = judge_rankings(report.summaries)
    columns = 4 if any(claim.remark for claim in claims) else 3
    heads = ["claim", "verdict", "numbers", "reason"][:columns]
    table = Table(heads, [list(claim[:columns]) for claim in claims])
    return Section("Claims", [table] if claims else [], CLAIMS_NOTE)


def _agreement(report: Report) -> Section:
    """Return Kendall's τ of each variant."""
    rows = [
        [summary.variant.name, *(format_estimate(summary.measures.get((ATTENTION, name))) for name in AGREEMENT)]
        for summary in report.summaries
        if any((ATTENTION, name) in summary.measures for name in AGREEMENT)
    ]
    table = Table(["variant", *AGREEMENT.values()], rows)
    return Section("Agreement of attention", [table] if rows else [], AGREEMENT_NOTE)


def _draw_curves(summary: VariantSummary) -> Figure:
    figure = new_figure(7, 3.8)
    axes = figure.subplots()
    for number, (ranking, (whole, *points)) in enumerate(summary.curves.items()):
        colour = COLOURS[number % len(COLOURS)]
        lows = [point.value if point.low is None else max(point.low, 0.0) for point in points]
        highs = [point.value if point.high is None else min(point.high, 1.0) for point in points]
        axes.fill_between(SHARES, lows, highs, color=colour, alpha=0.12, linewidth=0)
        axes.plot(SHARES, [point.value for point in points], "o-", color=colour, markersize=3, label=ranking)
        if not number:
            axes.axhline(whole.value, color=GREY, linestyle="--", linewidth=1)
    axes.set_xscale("log")
    axes.set_xticks(SHARES)
    axes.xaxis.set_major_formatter(PercentFormatter(1, decimals=0))
    axes.minorticks_off()
    name_axes(axes, summary.variant.name, "tokens removed", "probability of the predicted class")
    figure.legend(loc="outside right upper", fontsize=8, frameon=False)
    return figure


def _texts(record: Record) -> list[Group]:
    """Return the example texts of a record, with the score of each word in every ranking."""
    groups, start = [], 0
    for example in record.options.examples:
        stop = start + len(example.words)
        scores = record.arrays["scores"][:, start:stop]
        start = stop
        strips = [
            Strip(name, _words(example.words, values), name == ATTENTION)
            for name, values in zip(record.options.rankings, scores, strict=True)
        ]
        groups.append(Group(f"{example.label}, predicted {example.predicted}", strips))
    return groups


def _words(words: Sequence[str], scores: np.ndarray) -> list[Word]:
    """Return the words with the depth of their colour; words with a score of at most 0 have no colour."""
    highest = float(scores.max(initial=0)) or 1.0
    ranks = np.argsort(np.argsort(-scores, kind="stable"), kind="stable") + 1
    return [
        Word(word, max(0.0, score / highest), f"rank {rank}, score {score:.4f}")
        for word, score, rank in zip(words, scores.tolist(), ranks.tolist(), strict=True)
    ]


def measured_columns(summaries: Sequence[VariantSummary]) -> list[Column]:
    """Return the columns for which at least one variant has values."""
    measured = {name for summary in summaries for _, name in summary.measures}
    return [column for column in COLUMNS if column.name in measured]


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
    """Render a CSV table: one line for each variant, ranking and measure, with every number in full precision.

    Kendall's τ has the ranking `attention`.
    """
    bounds = ("value", "low", "high", "minus_random", "minus_random_low", "minus_random_high", "p_random")
    lines = [csv_line(["variant", "seeds", "texts", "ranking", "measure", *bounds])]
    for summary in report.summaries:
        for (ranking, name), estimate in summary.measures.items():
            numbers = [*estimate.interval, *(estimate.against_random or [None] * 4)]
            lines.append(csv_line([summary.variant.name, summary.seeds, estimate.texts, ranking, name, *numbers]))
    return "".join(lines)

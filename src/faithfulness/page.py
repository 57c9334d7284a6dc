"""Render a measurement as one self-contained web page."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from src.comparison.statistics import MIN_SEEDS, Interval
from src.faithfulness.erasure import SHARES
from src.faithfulness.names import COLUMNS, RANKINGS
from src.faithfulness.summary import VariantSummary
from src.faithfulness.tables import (
    NOTE,
    Report,
    claim_sections,
    format_estimate,
    measured_columns,
    remarks,
    variant_sections,
)
from src.formatting import format_count
from src.reports.page.chart import ChartRow, ChartTable, Scale, linear_scale, log_scale
from src.reports.page.document import render_page
from src.reports.page.rankings import ranked_texts

# the charts show the first of these measures that was computed
CHARTED = ("normalized_comprehensiveness", "comprehensiveness_removal")


class Curve(NamedTuple):
    """The probability of the predicted class by the share of removed tokens, drawn in per cent of the plot's size."""

    ranking: str
    style: str  # CSS class
    line: str  # points of a polyline
    band: str  # points of a polygon around the 95 % intervals


class Plot(NamedTuple):
    """The curves of a variant."""

    x: Scale
    y: Scale
    whole: float  # position of the mean probability of whole texts, in per cent from the top
    curves: list[Curve]
    description: str


def render_html(report: Report) -> str:
    """Render the HTML page."""
    name = next((name for name in CHARTED if any(name == n for s in report.summaries for _, n in s.measures)), None)
    names = {summary.variant.name: summary.variant.name for summary in report.summaries}
    variants = len(report.summaries)
    seeds = sum(summary.seeds for summary in report.summaries)
    forest = _forest(report.summaries, name) if name and variants > 1 else {}
    return render_page(
        "faithfulness.html.j2",
        title="Faithfulness of attention",
        lede=f"{format_count(variants, 'variant')}, {format_count(seeds, 'run')}, {report.texts:,} test texts.",
        facts={"Command": report.command},
        variant_names=names,
        charted=next((column.heading for column in COLUMNS if column.name == name), ""),
        rankings={s.variant.name: _ranking_table(s, name) for s in report.summaries} if name else {},
        notes={s.variant.name: f"{NOTE} {remarks(report, s)}" for s in report.summaries},
        forest=forest,
        ranking_names={ranking: ranking for ranking in forest},
        curves={s.variant.name: _plot(s) for s in report.summaries if s.curves},
        claims=claim_sections(report),
        others=variant_sections(report),
        texts={s.variant.name: ranked_texts(s.records[0]) for s in report.summaries},
        excluded=report.excluded,
        min_seeds=MIN_SEEDS,
        is_exploratory=report.is_exploratory,
    )


def _row(label: str, summary: VariantSummary, ranking: str, name: str, columns: Sequence[str]) -> ChartRow:
    estimate = summary.measures.get((ranking, name))
    cells = [format_estimate(summary.measures.get((ranking, column))) for column in columns]
    interval = estimate.interval if estimate else Interval(np.nan, None, None)
    value = None if estimate is None else interval.value
    return ChartRow(label, value, _clip(interval.low, name), _clip(interval.high, name), cells)


def _clip(bound: float | None, name: str) -> float | None:
    """Clip a bound to the range of the measure, because intervals from two seeds extend far beyond it."""
    return None if bound is None else float(np.clip(bound, 0 if name.startswith("normalized") else -1, 1))


def _columns(summaries: Sequence[VariantSummary]) -> dict[str, str]:
    return {column.name: column.heading for column in measured_columns(summaries)}


def _table(rows: list[ChartRow], columns: dict[str, str], description: str) -> ChartTable:
    ends = [end for row in rows for end in row[1:4] if end is not None]
    return ChartTable(linear_scale([0.0, 1.0, *ends]), list(columns.values()), rows, description)


def _ranking_table(summary: VariantSummary, name: str) -> ChartTable:
    columns = _columns([summary])
    rows = [_row(ranking, summary, ranking, name, list(columns)) for ranking in summary.rankings]
    return _table(rows, columns, f"{columns.get(name, name)} by ranking")


def _forest(summaries: Sequence[VariantSummary], name: str) -> dict[str, ChartTable]:
    """Return a table of the charted measure for each ranking, with a row for each variant, the highest value first."""
    tables, columns = {}, {name: _columns(summaries)[name]}
    for ranking in RANKINGS:
        rows = [_row(s.variant.name, s, ranking, name, list(columns)) for s in summaries if ranking in s.rankings]
        rows.sort(key=lambda row: -np.inf if row.value is None else row.value, reverse=True)
        if rows:
            tables[ranking] = _table(rows, columns, f"{columns.get(name, name)} of {ranking} by variant")
    return tables


def _plot(summary: VariantSummary) -> Plot:
    x = log_scale([100 * share for share in SHARES])
    ends = [_clip_probability(end, point) for points in summary.curves.values() for point in points for end in point]
    y = linear_scale([min(0.5, *ends), *ends])
    curves = []
    for ranking, points in summary.curves.items():
        positions = list(zip([x.position(100 * share) for share in SHARES], points[1:], strict=True))
        line = [f"{left},{y.from_top(point.value)}" for left, point in positions]
        lows = [f"{left},{y.from_top(_clip_probability(point.low, point))}" for left, point in positions]
        highs = [f"{left},{y.from_top(_clip_probability(point.high, point))}" for left, point in positions]
        style = f"s{RANKINGS.index(ranking)}"
        curves.append(Curve(ranking, style, " ".join(line), " ".join([*lows, *reversed(highs)])))
    whole = next(iter(summary.curves.values()))[0].value
    description = "Probability of the predicted class by the share of tokens removed, for each ranking"
    return Plot(x, y, y.from_top(whole), curves, description)


def _clip_probability(bound: float | None, point: Interval) -> float:
    """Clip a bound of a probability's interval to [0, 1]; None becomes the probability itself."""
    return point.value if bound is None else min(max(bound, 0.0), 1.0)

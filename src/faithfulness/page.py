"""Render a measurement as one self-contained web page."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from src.faithfulness import tables
from src.faithfulness.erasure import SHARES
from src.faithfulness.names import RANKINGS, Column
from src.faithfulness.summary import VariantSummary
from src.faithfulness.tables import NOTE, Report
from src.formatting import format_count
from src.reports.page.chart import ChartRow, ChartTable, Scale, linear_scale, log_scale
from src.reports.page.document import render_page
from src.reports.page.rankings import ranked_texts
from src.terms.intervals import Interval
from src.terms.significance import MIN_SEEDS

# the charts show the first of these measures that was computed
CHARTED = ("normalized_comprehensiveness", "comprehensiveness_removal")


class Curve(NamedTuple):
    """The probability of the predicted class by share of removed tokens; coordinates are in per cent of the plot."""

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
    summaries = report.summaries
    charted = next((column for column in tables.measured_columns(summaries) if column.name in CHARTED), None)
    variants, runs = len(summaries), sum(summary.seeds for summary in summaries)
    forest = _forest(summaries, charted) if charted and variants > 1 else {}
    return render_page(
        "faithfulness.html.j2",
        title="Faithfulness of attention",
        lede=", ".join(map(format_count, (variants, runs, report.texts), ("variant", "run", "test text"))) + ".",
        facts={"Command": report.command},
        variant_names={s.variant.name: s.variant.name for s in summaries},
        charted=charted.heading if charted else "",
        rankings={s.variant.name: _ranking_table(s, charted) for s in summaries} if charted else {},
        notes={s.variant.name: f"{NOTE} {tables.remarks(report, s)}" for s in summaries},
        forest=forest,
        ranking_names={ranking: ranking for ranking in forest},
        curves={s.variant.name: _plot(s) for s in summaries if s.curves},
        claims=tables.claim_sections(report),
        others=tables.variant_sections(report),
        texts={s.variant.name: ranked_texts(s.records[0]) for s in summaries},
        excluded=report.excluded,
        min_seeds=MIN_SEEDS,
        is_exploratory=report.is_exploratory,
    )


def _ranking_table(summary: VariantSummary, charted: Column) -> ChartTable:
    columns = tables.measured_columns([summary])
    rows = [_row(ranking, summary, ranking, charted, columns) for ranking in summary.rankings]
    return _table(rows, columns, f"{charted.heading} by ranking")


def _forest(summaries: Sequence[VariantSummary], charted: Column) -> dict[str, ChartTable]:
    """Return a table of the charted measure for each ranking, with a row for each variant, the highest value first."""
    by_ranking = {}
    for ranking in RANKINGS:
        rows = [_row(s.variant.name, s, ranking, charted, [charted]) for s in summaries if ranking in s.rankings]
        rows.sort(key=lambda row: -np.inf if row.value is None else row.value, reverse=True)
        if rows:
            by_ranking[ranking] = _table(rows, [charted], f"{charted.heading} of {ranking} by variant")
    return by_ranking


def _table(rows: list[ChartRow], columns: Sequence[Column], description: str) -> ChartTable:
    ends = [end for row in rows for end in row[1:4] if end is not None]
    return ChartTable(linear_scale([0.0, 1.0, *ends]), [column.heading for column in columns], rows, description)


def _row(label: str, summary: VariantSummary, ranking: str, charted: Column, columns: Sequence[Column]) -> ChartRow:
    cells = [tables.format_estimate(summary.measures.get((ranking, column.name))) for column in columns]
    estimate = summary.measures.get((ranking, charted.name))
    if estimate is None:
        return ChartRow(label, None, None, None, cells)
    value, *bounds = estimate.interval
    # intervals from two seeds can extend far beyond the range of the measure
    lowest = 0 if charted.name.startswith("normalized") else -1
    low, high = (None if bound is None else float(np.clip(bound, lowest, 1)) for bound in bounds)
    return ChartRow(label, value, low, high, cells)


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

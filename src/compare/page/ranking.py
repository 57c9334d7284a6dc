"""Page sections: the variants ranked by each score, and their differences from the baseline."""

from src.compare.formatting import format_p_value, format_with_margin, heading, label
from src.reports.page.chart import ChartRow, ChartTable, linear_scale
from src.reports.page.formatting import format_compact, format_interval, format_score
from src.reports.tables import UNKNOWN
from src.terms.comparison import Comparison
from src.terms.measurements import FAITHFULNESS
from src.terms.rows import METRICS


def score_names(comparison: Comparison) -> list[str]:
    """Return the name of the compared score, then METRICS, without scores that no variant has."""
    names = dict.fromkeys((comparison.metric, *METRICS))
    return [name for name in names if any(name in row.metrics for row in comparison.rows)]


def ranking(comparison: Comparison) -> dict[str, ChartTable]:
    """Return a table for each score, with the best variant first."""
    return {metric: _ranked(comparison, metric) for metric in score_names(comparison)}


def _ranked(comparison: Comparison, metric: str) -> ChartTable:
    is_lower_better = metric in comparison.lower_is_better
    scores = [(row, row.metrics[metric]) for row in comparison.rows if metric in row.metrics]
    scores.sort(key=lambda pair: pair[1].value if is_lower_better else -pair[1].value)
    rows = []
    for row, (value, low, high) in scores:
        cells = (format_score(value), format_interval(low, high), row.seeds)
        style = "baseline" if row is comparison.baseline else "plain"
        rows.append(ChartRow(row.variant.name, value, low, high, cells, style))
    scale = linear_scale(x for _, interval in scores for x in interval if x is not None)
    order = "lower is better" if is_lower_better else "higher is better"
    description = f"{heading(metric)} with its interval, {order}"
    return ChartTable(scale, (heading(metric), "95 % interval", "Seeds"), rows, description)


def numbers(comparison: Comparison) -> tuple[list[str], list[list[str]]]:
    """Return the headings and rows of the table of scores, size and cost; the first cell of a row is the variant."""
    metrics = score_names(comparison)
    measured = [name for name in FAITHFULNESS if any(name in row.faithfulness for row in comparison.rows)]
    rows = []
    for row in comparison.rows:
        cells = [
            row.variant.name,
            *(format_with_margin(row.metrics.get(metric)) for metric in metrics),
            *(format_with_margin(row.faithfulness.get(name)) for name in measured),
            format_score(row.ensemble),
            f"{row.parameters:,}",
            UNKNOWN if row.seconds_per_epoch is None else format_compact(row.seconds_per_epoch.value),
            UNKNOWN if row.peak_memory_mb is None else f"{row.peak_memory_mb:,.0f}",
            str(row.seeds),
        ]
        rows.append(cells)
    ensemble = f"{heading(comparison.metric)} of the seeds' ensemble"
    scores = [*map(heading, (*metrics, *measured)), ensemble]
    return ["Variant", *scores, "Parameters", "Seconds per epoch", "Peak memory, MB", "Seeds"], rows


def differences(comparison: Comparison) -> ChartTable | None:
    """Return a table of the variants' differences from the baseline; None if there is only the baseline."""
    rows = []
    for row in comparison.rows:
        if row.difference is not None:
            value, low, high = row.difference
            cells = (
                format_score(value, "+"),
                format_interval(low, high, "+"),
                format_p_value(row.p_adjusted),
                UNKNOWN if row.mcnemar is None else f"{row.mcnemar[0]} of {row.mcnemar[1]}",
                row.verdict,
            )
            rows.append(ChartRow(row.variant.name, value, low, high, cells, row.verdict.replace(" ", "-")))
    if not rows:
        return None
    ends = [0.0, *(x for row in rows for x in (row.value, row.low, row.high) if x is not None)]
    scale = linear_scale(ends, ticks=3)  # the labels of negative ticks are wide
    description = f"Difference in {label(comparison.metric)} from the baseline with its interval"
    return ChartTable(scale, ("Difference", "95 % interval", "p (Holm)", "McNemar", "Verdict"), rows, description)

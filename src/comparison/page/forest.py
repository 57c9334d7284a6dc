"""Page section: each variant's difference to the baseline."""

from src.comparison.comparison import Comparison
from src.comparison.formatting import format_p_value, heading, label
from src.comparison.page.ranking import name
from src.comparison.statistics import MIN_SEEDS
from src.reports.page.chart import linear_scale
from src.reports.page.document import Section
from src.reports.page.formatting import UNKNOWN, format_count, format_difference, format_interval
from src.reports.page.table import TableRow, chart_table


def forest(comparison: Comparison) -> Section | None:
    """A row with its interval for each variant except the baseline."""
    rows = [row for row in comparison.rows if row.difference is not None]
    if not rows:
        return None
    intervals = [row.difference for row in rows if row.difference is not None]
    scale = linear_scale([0.0, *(x for interval in intervals for x in interval if x is not None)])
    lines = []
    for row, (value, low, high) in zip(rows, intervals, strict=True):
        mcnemar = UNKNOWN if row.mcnemar is None else f"{row.mcnemar[0]} of {row.mcnemar[1]}"
        cells = (
            format_difference(value),
            format_interval(low, high, signed=True),
            format_p_value(row.p_adjusted),
            mcnemar,
            row.verdict,
        )
        lines.append(TableRow(name(row, comparison), value, low, high, cells, row.verdict))
    heads = ("Difference", "95 % interval", "p (Holm)", "McNemar", "Verdict")
    description = f"Difference in {label(comparison.metric)} to the baseline with its interval"
    table = chart_table("Variant", scale, heads, lines, description)
    caption = (
        f"{heading(comparison.metric)} minus that of the baseline, {comparison.baseline.variant.name}, on the same "
        "texts. The line is the 95 % interval of a two-level bootstrap over seeds and texts, with Student's t, "
        "unadjusted. The p-value, adjusted for "
        f"{format_count(comparison.num_tests, 'difference')} (Holm), decides the verdict. McNemar: the number of seeds "
        "in which the exact test finds a difference of the same sign at 5 %. tie: no significant difference; "
        f"exploratory: fewer than {MIN_SEEDS} seeds."
    )
    return Section("differences", "Differences to the baseline", caption, table)

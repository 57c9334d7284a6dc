"""How far each variant is from the baseline."""

from src.comparison.comparison import Comparison
from src.comparison.numbers import chance
from src.comparison.page.names import heading, label
from src.comparison.page.ranking import name
from src.comparison.statistics import ENOUGH
from src.reports.page.chart import linear_scale
from src.reports.page.document import Section
from src.reports.page.formatting import UNKNOWN, format_count, format_difference, format_interval
from src.reports.page.table import TableRow, chart_table


def forest(comparison: Comparison) -> Section | None:
    """A line for each variant but the baseline; zero is no difference."""
    rows = [row for row in comparison.rows if row.difference is not None]
    if not rows:
        return None
    intervals = [row.difference for row in rows if row.difference is not None]
    scale = linear_scale([0.0, *(x for interval in intervals for x in interval if x is not None)])
    lines = []
    for row, (value, low, high) in zip(rows, intervals, strict=True):
        found = UNKNOWN if row.mcnemar is None else f"{row.mcnemar[0]} of {row.mcnemar[1]}"
        cells = (
            format_difference(value),
            format_interval(low, high, signed=True),
            chance(row.p_adjusted),
            found,
            row.verdict,
        )
        lines.append(TableRow(name(row, comparison), value, low, high, cells, row.verdict))
    heads = ("Difference", "95 % interval", "p (Holm)", "McNemar", "Verdict")
    said = f"Difference in {label(comparison.metric)} to the baseline with its interval"
    table = chart_table("Variant", scale, heads, lines, said)
    caption = (
        f"{heading(comparison.metric)} less that of the baseline, {comparison.baseline.variant.name}, on the same "
        "texts. The line is the 95 % interval of a two-level bootstrap, which draws seeds and texts anew, with "
        f"Student's t, unadjusted. The verdict goes by p, which allows for all "
        f"{format_count(comparison.family, 'difference')} (Holm). McNemar: in how many seeds "
        f"the exact test finds that difference at 5 %. A tie is not shown to differ; fewer than {ENOUGH} seeds are "
        "exploratory, whatever they show."
    )
    return Section("differences", "Differences to the baseline", caption, table)

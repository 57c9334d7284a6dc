"""The variants from best to worst, by any score."""

from collections.abc import Sequence

from src.comparison.comparison import Comparison
from src.comparison.numbers import with_margin
from src.comparison.page.names import heading
from src.comparison.rows import METRICS, Row
from src.comparison.scores import LOWER_IS_BETTER
from src.reports.page.chart import linear_scale
from src.reports.page.document import Section
from src.reports.page.formatting import UNKNOWN, format_compact, format_interval, format_score
from src.reports.page.html import Html, Inside, join, tag
from src.reports.page.selector import panes, picker
from src.reports.page.table import TableRow, chart_table, plain_table


def metrics(comparison: Comparison) -> list[str]:
    """The scores that some variant has, the one that is compared first."""
    names = dict.fromkeys((comparison.metric, *METRICS))
    return [name for name in names if any(name in row.metrics for row in comparison.rows)]


def ranking(comparison: Comparison) -> Section:
    several = any(row.seeds > 1 for row in comparison.rows)
    caption = (
        "A dot is the mean over seeds on the test texts, its line the 95 % interval of the mean over all seeds "
        "(Student's t). Variants whose lines overlap can differ all the same: the differences below compare them on "
        "the same texts."
        if several
        else "One seed a variant: a dot is a single run, and nothing says how far another seed would move it."
    )
    names = metrics(comparison)
    tables = {name: _ranked(comparison, name) for name in names}
    pick = tag("div", picker("ranking", "By", {name: heading(name) for name in names}), class_="pickers")
    every = tag("details", tag("summary", "All numbers"), _numbers(comparison, names))
    return Section("ranking", "Ranking", caption, join(pick, panes("ranking", tables), every))


def _ranked(comparison: Comparison, metric: str) -> Html:
    lower = metric in LOWER_IS_BETTER
    held = [(row, row.metrics[metric]) for row in comparison.rows if metric in row.metrics]
    held.sort(key=lambda pair: pair[1].value if lower else -pair[1].value)
    scale = linear_scale(x for _, interval in held for x in interval if x is not None)
    lines = []
    for place, (row, (value, low, high)) in enumerate(held, 1):
        cells = (format_score(value), format_interval(low, high), row.seeds)
        kind = "baseline" if row is comparison.baseline else "plain"
        lines.append(TableRow(name(row, comparison, place), value, low, high, cells, kind))
    heads = (heading(metric), "95 % interval", "Seeds")
    order = "lower is better" if lower else "higher is better"
    return chart_table("Variant", scale, heads, lines, f"{heading(metric)} with its interval, {order}")


def name(row: Row, comparison: Comparison, place: int | None = None) -> Html:
    """A variant's name, with its place where it has one, and marked if it is the baseline."""
    marked = tag("small", "baseline") if row is comparison.baseline and len(comparison.rows) > 1 else None
    numbered = None if place is None else tag("span", place, class_="place")
    return tag("span", numbered, tag("span", row.variant.name, " ", marked), class_="variant")


def _numbers(comparison: Comparison, names: Sequence[str]) -> Html:
    rows: list[list[Inside]] = []
    for row in comparison.rows:
        scores = [with_margin(row.metrics.get(metric)) for metric in names]
        seconds = UNKNOWN if row.seconds_per_epoch is None else format_compact(row.seconds_per_epoch.value)
        memory = UNKNOWN if row.peak_memory_mb is None else f"{row.peak_memory_mb:,.0f}"
        scores.append(format_score(row.ensemble))
        rows.append([name(row, comparison), *scores, f"{row.parameters:,}", seconds, memory, row.seeds])
    together = f"{heading(comparison.metric)} of the seeds' ensemble"
    heads = ["Variant", *map(heading, names), together, "Parameters", "Seconds an epoch", "Peak memory, MB", "Seeds"]
    return plain_table(heads, rows, numbers=range(1, len(heads)))

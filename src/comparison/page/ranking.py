"""Page section: the variants ranked by each score."""

from collections.abc import Sequence

from src.comparison.comparison import Comparison
from src.comparison.formatting import format_with_margin, heading
from src.comparison.rows import METRICS, Row
from src.comparison.scores import LOWER_IS_BETTER
from src.reports.page.chart import linear_scale
from src.reports.page.document import Section
from src.reports.page.formatting import UNKNOWN, format_compact, format_interval, format_score
from src.reports.page.html import Html, Inside, join, tag
from src.reports.page.selector import panes, picker
from src.reports.page.table import TableRow, chart_table, plain_table


def metrics(comparison: Comparison) -> list[str]:
    """The scores that at least one variant has, the compared score first."""
    names = dict.fromkeys((comparison.metric, *METRICS))
    return [name for name in names if any(name in row.metrics for row in comparison.rows)]


def ranking(comparison: Comparison) -> Section:
    has_several_seeds = any(row.seeds > 1 for row in comparison.rows)
    caption = (
        "A dot is the mean over seeds on the test texts; its line is the 95 % interval of the mean over all seeds "
        "(Student's t). Variants whose intervals overlap can still differ significantly: the differences below are "
        "estimated on the same texts."
        if has_several_seeds
        else "A dot is a single run. With one seed per variant, the variation between seeds is unknown."
    )
    names = metrics(comparison)
    tables = {name: _ranked(comparison, name) for name in names}
    pick = tag("div", picker("ranking", "By", {name: heading(name) for name in names}), class_="pickers")
    details = tag("details", tag("summary", "All numbers"), _numbers(comparison, names))
    return Section("ranking", "Ranking", caption, join(pick, panes("ranking", tables), details))


def _ranked(comparison: Comparison, metric: str) -> Html:
    is_lower_better = metric in LOWER_IS_BETTER
    scores = [(row, row.metrics[metric]) for row in comparison.rows if metric in row.metrics]
    scores.sort(key=lambda pair: pair[1].value if is_lower_better else -pair[1].value)
    scale = linear_scale(x for _, interval in scores for x in interval if x is not None)
    lines = []
    for rank, (row, (value, low, high)) in enumerate(scores, 1):
        cells = (format_score(value), format_interval(low, high), row.seeds)
        kind = "baseline" if row is comparison.baseline else "plain"
        lines.append(TableRow(name(row, comparison, rank), value, low, high, cells, kind))
    heads = (heading(metric), "95 % interval", "Seeds")
    order = "lower is better" if is_lower_better else "higher is better"
    return chart_table("Variant", scale, heads, lines, f"{heading(metric)} with its interval, {order}")


def name(row: Row, comparison: Comparison, rank: int | None = None) -> Html:
    """A variant's name with its rank, marked if it is the baseline."""
    mark = tag("small", "baseline") if row is comparison.baseline and len(comparison.rows) > 1 else None
    numbered = None if rank is None else tag("span", rank, class_="place")
    return tag("span", numbered, tag("span", row.variant.name, " ", mark), class_="variant")


def _numbers(comparison: Comparison, names: Sequence[str]) -> Html:
    rows: list[list[Inside]] = []
    for row in comparison.rows:
        scores = [format_with_margin(row.metrics.get(metric)) for metric in names]
        seconds = UNKNOWN if row.seconds_per_epoch is None else format_compact(row.seconds_per_epoch.value)
        memory = UNKNOWN if row.peak_memory_mb is None else f"{row.peak_memory_mb:,.0f}"
        scores.append(format_score(row.ensemble))
        rows.append([name(row, comparison), *scores, f"{row.parameters:,}", seconds, memory, row.seeds])
    ensemble = f"{heading(comparison.metric)} of the seeds' ensemble"
    heads = ["Variant", *map(heading, names), ensemble, "Parameters", "Seconds per epoch", "Peak memory, MB", "Seeds"]
    return plain_table(heads, rows, numbers=range(1, len(heads)))

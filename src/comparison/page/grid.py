"""Page section: a grid of encoders and attentions, or of two other factors."""

from collections.abc import Callable, Sequence

from src.comparison.comparison import Comparison
from src.comparison.formatting import heading
from src.comparison.page.facts import factor_value, factors
from src.comparison.page.ranking import metrics
from src.comparison.rows import Row
from src.comparison.scores import LOWER_IS_BETTER
from src.reports.page.document import Section
from src.reports.page.formatting import UNKNOWN, format_score
from src.reports.page.html import Html, join, tag
from src.reports.page.selector import panes, picker

DEFAULT_FACTORS = ("encoder", "attention")  # rows and columns, if the variants differ in both
MIN_FILLED = 0.5  # share of the cells that must contain a variant

Factor = tuple[str, Sequence[str]]  # its name and values
Shade = Callable[[float], float]  # from a value to the depth of its colour: 0 for the worst variant, 1 for the best


def grid(comparison: Comparison) -> Section | None:
    """A table for each score and, with more than two factors, for each combination of the other factors' values."""
    varying = factors(comparison)
    if len(varying) < 2:
        return None
    row_factor, column_factor = DEFAULT_FACTORS if set(DEFAULT_FACTORS) <= set(varying) else tuple(varying)[:2]
    others = [name for name in varying if name not in (row_factor, column_factor)]
    by_others: dict[tuple[str, ...], list[Row]] = {}
    for row in comparison.rows:
        by_others.setdefault(tuple(factor_value(row.variant, name) for name in others), []).append(row)
    cells = len(varying[row_factor]) * len(varying[column_factor]) * len(by_others)
    if len(comparison.rows) < MIN_FILLED * cells:
        return None
    row_levels, column_levels = (row_factor, varying[row_factor]), (column_factor, varying[column_factor])
    panels = {}
    for metric in metrics(comparison):
        shade = _shade(comparison, metric)
        panels[metric] = join(
            *(
                _table(rows, metric, row_levels, column_levels, ", ".join(fixed), shade)
                for fixed, rows in by_others.items()
            )
        )
    pick = tag("div", picker("grid", "Show", {metric: heading(metric) for metric in panels}), class_="pickers")
    caption = "Means over seeds ± half of their 95 % interval. A deeper colour marks a better score."
    return Section("grid", f"{heading(row_factor)} × {column_factor}", caption, join(pick, panes("grid", panels)))


def _shade(comparison: Comparison, metric: str) -> Shade:
    values = [row.metrics[metric].value for row in comparison.rows if metric in row.metrics]
    worst, best = (max(values), min(values)) if metric in LOWER_IS_BETTER else (min(values), max(values))
    return lambda value: (value - worst) / (best - worst) if best != worst else 0.5


def _table(
    rows: Sequence[Row], metric: str, rows_factor: Factor, columns_factor: Factor, title: str, shade: Shade
) -> Html:
    by_values = {
        (factor_value(row.variant, rows_factor[0]), factor_value(row.variant, columns_factor[0])): row for row in rows
    }
    body = []
    for row_value in rows_factor[1]:
        cells = [_cell(by_values.get((row_value, value)), metric, shade) for value in columns_factor[1]]
        body.append(tag("tr", tag("th", row_value, scope="row"), *cells))
    heads = [tag("th", value, scope="col") for value in columns_factor[1]]
    head = tag("thead", tag("tr", tag("th", f"{rows_factor[0]} \\ {columns_factor[0]}", scope="col"), *heads))
    table = tag("table", tag("caption", title) if title else None, head, tag("tbody", *body), class_="grid")
    return tag("div", table, class_="scroll")


def _cell(row: Row | None, metric: str, shade: Shade) -> Html:
    if row is None or metric not in row.metrics:
        return tag("td", UNKNOWN, class_="soft")
    value, low, high = row.metrics[metric]
    half = None if low is None or high is None else tag("small", f"± {(high - low) / 2:.3f}")
    return tag("td", format_score(value), half, class_="heat", style=f"--w:{shade(value):.3f}")

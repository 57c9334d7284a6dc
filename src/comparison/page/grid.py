"""Every encoder with every attention, or whatever two things the variants differ in."""

from collections.abc import Callable, Sequence

from src.comparison.comparison import Comparison
from src.comparison.page.facts import factors, value
from src.comparison.page.names import heading
from src.comparison.page.ranking import metrics
from src.comparison.rows import Row
from src.comparison.scores import LOWER_IS_BETTER
from src.reports.page.document import Section
from src.reports.page.formatting import UNKNOWN, format_score
from src.reports.page.html import Html, join, tag
from src.reports.page.selector import panes, picker

SIDES = ("encoder", "attention")  # rows and columns, where variants differ in both
FILLED = 0.5  # share of the cells that must hold a variant: a grid of holes shows nothing

Side = tuple[str, Sequence[str]]  # a factor and its values
Shade = Callable[[float], float]  # how deep a value's colour is: 0 for the worst of all variants, 1 for the best


def grid(comparison: Comparison) -> Section | None:
    """A table for each score; further factors give a table for each of their values that occur together."""
    varying = factors(comparison)
    if len(varying) < 2:
        return None
    down, across = SIDES if set(SIDES) <= set(varying) else tuple(varying)[:2]
    others = [name for name in varying if name not in (down, across)]
    by_others: dict[tuple[str, ...], list[Row]] = {}
    for row in comparison.rows:
        by_others.setdefault(tuple(value(row.variant, name) for name in others), []).append(row)
    cells = len(varying[down]) * len(varying[across]) * len(by_others)
    if len(comparison.rows) < FILLED * cells:
        return None
    panels = {}
    for metric in metrics(comparison):
        shade = _shade(comparison, metric)
        panels[metric] = join(
            *(
                _table(rows, metric, (down, varying[down]), (across, varying[across]), ", ".join(fixed), shade)
                for fixed, rows in by_others.items()
            )
        )
    pick = tag("div", picker("grid", "Show", {metric: heading(metric) for metric in panels}), class_="pickers")
    caption = (
        "Means over seeds, ± half of their 95 % interval where there is one. The deeper its colour, the better a cell."
    )
    return Section("grid", f"{heading(down)} × {across}", caption, join(pick, panes("grid", panels)))


def _shade(comparison: Comparison, metric: str) -> Shade:
    values = [row.metrics[metric].value for row in comparison.rows if metric in row.metrics]
    worst, best = (max(values), min(values)) if metric in LOWER_IS_BETTER else (min(values), max(values))
    return lambda found: (found - worst) / (best - worst) if best != worst else 0.5


def _table(rows: Sequence[Row], metric: str, down: Side, across: Side, title: str, shade: Shade) -> Html:
    at = {(value(row.variant, down[0]), value(row.variant, across[0])): row for row in rows}
    body = []
    for side in down[1]:
        line = [_cell(at.get((side, top)), metric, shade) for top in across[1]]
        body.append(tag("tr", tag("th", side, scope="row"), *line))
    heads = [tag("th", top, scope="col") for top in across[1]]
    head = tag("thead", tag("tr", tag("th", f"{down[0]} \\ {across[0]}", scope="col"), *heads))
    table = tag("table", tag("caption", title) if title else None, head, tag("tbody", *body), class_="grid")
    return tag("div", table, class_="scroll")


def _cell(row: Row | None, metric: str, shade: Shade) -> Html:
    if row is None or metric not in row.metrics:
        return tag("td", UNKNOWN, class_="soft")
    found, low, high = row.metrics[metric]
    half = None if low is None or high is None else tag("small", f"± {(high - low) / 2:.3f}")
    return tag("td", format_score(found), half, class_="heat", style=f"--w:{shade(found):.3f}")

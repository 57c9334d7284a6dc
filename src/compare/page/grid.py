"""Page section: a grid of encoders and attention mechanisms, or of two other factors."""

from typing import NamedTuple

from src.compare.formatting import heading
from src.compare.page.facts import factor_value, factors
from src.compare.page.ranking import score_names
from src.reports.page.formatting import format_score
from src.terms.comparison import Comparison
from src.terms.rows import Row

DEFAULT_FACTORS = ("encoder", "attention")  # rows and columns, if the variants differ in both
MIN_FILLED = 0.5  # minimum share of the cells that must contain a variant


class Cell(NamedTuple):
    """The score of a variant."""

    score: str
    margin: float | None  # half-width of the interval; None if unknown
    depth: float  # depth of the colour, from 0 for the worst variant to 1 for the best


class Grid(NamedTuple):
    """Tables whose rows are the values of one factor, and whose columns are the values of another factor."""

    title: str
    corner: str  # heading of the column of row names
    columns: list[str]
    # score → values of the factors that are in neither rows nor columns → row → cells
    tables: dict[str, dict[str, dict[str, list[Cell | None]]]]


def grid(comparison: Comparison) -> Grid | None:
    """Return tables with one factor in the rows and another in the columns.

    There is a table for each score and each combination of values of the remaining factors.

    Returns:
        The tables; None if fewer than two factors vary, or if variants fill less than half of the cells.
    """
    varying = factors(comparison)
    if len(varying) < 2:
        return None
    first, second = DEFAULT_FACTORS if set(DEFAULT_FACTORS) <= set(varying) else tuple(varying)[:2]
    others = [name for name in varying if name not in (first, second)]
    by_others: dict[str, dict[tuple[str, str], Row]] = {}
    for row in comparison.rows:
        values = ", ".join(factor_value(row.variant, name) for name in others)
        cell = (factor_value(row.variant, first), factor_value(row.variant, second))
        by_others.setdefault(values, {})[cell] = row
    if len(comparison.rows) < MIN_FILLED * len(varying[first]) * len(varying[second]) * len(by_others):
        return None
    tables: dict[str, dict[str, dict[str, list[Cell | None]]]] = {}
    for metric in score_names(comparison):
        values_of_all = [row.metrics[metric].value for row in comparison.rows if metric in row.metrics]
        worst, best = min(values_of_all), max(values_of_all)
        if metric in comparison.lower_is_better:
            worst, best = best, worst
        tables[metric] = {
            title: {
                name: [_cell(rows.get((name, column)), metric, worst, best) for column in varying[second]]
                for name in varying[first]
            }
            for title, rows in by_others.items()
        }
    return Grid(f"{heading(first)} × {second}", f"{first} \\ {second}", varying[second], tables)


def _cell(row: Row | None, metric: str, worst: float, best: float) -> Cell | None:
    if row is None or metric not in row.metrics:
        return None
    value, low, high = row.metrics[metric]
    margin = None if low is None or high is None else (high - low) / 2
    return Cell(format_score(value), margin, (value - worst) / (best - worst) if best != worst else 0.5)

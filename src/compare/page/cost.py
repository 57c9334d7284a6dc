"""Page section: charts of the compared score against seconds, parameters and memory."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from src.compare.formatting import heading
from src.compare.page.facts import factor_value, factors
from src.reports.page.chart import Scale, linear_scale, log_scale
from src.reports.page.formatting import format_compact, format_score
from src.reports.words import clean_text
from src.terms.comparison import Comparison
from src.terms.rows import Row

MAX_COLOURS = 7  # number of colours in the style sheet
SHAPES = ("circle", "square", "diamond", "triangle", "cross")  # shapes that the template can draw
MAX_LABEL_LENGTH = 24  # maximum number of characters of a label
LABEL_WIDTH, LABEL_HEIGHT = 40, 7  # size of a label, in per cent of a narrow chart
LETTER_WIDTH = 0.8  # width of a character, in per cent of a wide chart


class Kind(NamedTuple):
    """A kind of cost."""

    label: str
    unit: str
    of: Callable[[Row], float | None]  # row of a variant → its cost; None if unknown


COSTS = {
    "seconds": Kind("Seconds per epoch", "seconds", lambda row: row.seconds_per_epoch and row.seconds_per_epoch.value),
    "parameters": Kind("Parameters", "parameters", lambda row: row.parameters),
    "memory": Kind("Peak memory", "MB", lambda row: row.peak_memory_mb),
}


class Point(NamedTuple):
    """A variant's mark and interval, with positions in per cent of the chart."""

    left: float
    top: float
    interval_top: float
    interval_bottom: float
    has_interval: bool
    shape: str
    style: str  # CSS class of the colour
    tooltip: str


class Label(NamedTuple):
    """The name of a variant beside its mark."""

    left: float
    top: float
    side: int  # 1 for the right of the mark, -1 for the left
    text: str


class Chart(NamedTuple):
    """The score against one kind of cost."""

    x: Scale
    y: Scale
    x_label: str
    description: str
    labels: list[Label]
    points: list[Point]


class PointStyle(NamedTuple):
    """Colours and shapes of the variants' marks."""

    first: str  # the factor that determines the colour; "" if all marks have one colour
    second: str  # the factor that determines the shape; "" if all marks have one shape
    colours: dict[str, str]  # value of the first factor → CSS class
    shapes: dict[str, str]  # value of the second factor → name of the shape


class Costs(NamedTuple):
    """The charts, and the legend of their marks."""

    names: dict[str, str]  # kind of cost → label
    style: PointStyle
    charts: dict[str, Chart]  # by kind of cost


def cost(comparison: Comparison) -> Costs | None:
    """Return a chart of the compared score against each kind of cost that is known for two or more variants.

    Returns:
        The charts, whose labels name the variants on the Pareto front; None if there are no charts.
    """
    metric, style = comparison.metric, _point_style(comparison)
    charts = {}
    for name, kind in COSTS.items():
        variants = [(row, amount) for row in comparison.rows if metric in row.metrics and (amount := kind.of(row))]
        if len(variants) > 1:
            charts[name] = _chart(variants, kind, comparison, style)
    return Costs({name: COSTS[name].label for name in charts}, style, charts) if charts else None


def _chart(variants: Sequence[tuple[Row, float]], kind: Kind, comparison: Comparison, style: PointStyle) -> Chart:
    metric = comparison.metric
    x = log_scale(amount for _, amount in variants)
    y = linear_scale((end for row, _ in variants for end in row.metrics[metric] if end is not None), ticks=5)
    points, best, frontier = [], None, []
    for row, amount in sorted(variants, key=lambda pair: pair[1]):
        score, low, high = row.metrics[metric]
        top = y.from_top(score)
        point = Point(
            left=x.position(amount),
            top=top,
            interval_top=top if high is None else y.from_top(high),
            interval_bottom=top if low is None else y.from_top(low),
            has_interval=low is not None and high is not None,
            shape=style.shapes.get(factor_value(row.variant, style.second), SHAPES[0]),
            style=style.colours.get(factor_value(row.variant, style.first), "s0"),
            tooltip=f"{row.variant.name}: {format_score(score)}, {format_compact(amount)} {kind.unit}",
        )
        points.append(point)
        if best is None or (score < best if metric in comparison.lower_is_better else score > best):
            best = score
            frontier.append((row.variant.name, point))
    description = f"{heading(metric)} of {len(variants)} variants against {kind.label.lower()}"
    return Chart(x, y, f"{kind.label} (log scale)", description, _labels(frontier[::-1], points), points)


def _labels(frontier: Sequence[tuple[str, Point]], points: Sequence[Point]) -> list[Label]:
    """Label the points of the Pareto front, except where a label would overlap a mark or an earlier label."""
    labels: list[Label] = []
    for name, point in frontier:
        text = clean_text(name, MAX_LABEL_LENGTH)
        sides = (1, -1) if point.left < 50 else (-1, 1)
        side = next((side for side in sides if _is_free(point, side * LETTER_WIDTH * len(text), points)), None)
        overlaps = any(
            abs(point.left - label.left) < LABEL_WIDTH and abs(point.top - label.top) < LABEL_HEIGHT for label in labels
        )
        if side is not None and not overlaps:
            labels.append(Label(point.left, point.top, side, text))
    return labels


def _is_free(point: Point, width: float, points: Sequence[Point]) -> bool:
    """Return whether a label is inside the chart and overlaps no mark; a negative width extends the label leftwards."""
    first, last = sorted((point.left, point.left + width))
    is_inside = first >= 0 and last <= 100
    return is_inside and not any(
        first < other.left < last
        and other.interval_top - 1 < point.top - 2
        and other.interval_bottom + 1 > point.top - LABEL_HEIGHT
        for other in points
    )


def _point_style(comparison: Comparison) -> PointStyle:
    varying = factors(comparison)
    first = next((name for name, values in varying.items() if len(values) <= MAX_COLOURS), "")
    second = next((name for name, values in varying.items() if name != first and len(values) <= len(SHAPES)), "")
    colours = {value: f"s{index}" for index, value in enumerate(varying.get(first, ()))}
    shapes = dict(zip(varying.get(second, ()), SHAPES, strict=False))
    return PointStyle(first, second, colours, shapes)

"""Page section: charts of the compared score against seconds, parameters and memory."""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from src.comparison.comparison import Comparison
from src.comparison.formatting import heading
from src.comparison.page.facts import factor_value, factors
from src.comparison.rows import Row
from src.comparison.scores import LOWER_IS_BETTER
from src.reports.page.chart import SHAPES, Shape, dot, linear_scale, log_scale, mark, plot, vertical_interval
from src.reports.page.document import Section
from src.reports.page.formatting import format_compact, format_score
from src.reports.page.html import Html, join, tag
from src.reports.page.selector import panes, picker
from src.reports.words import clean_text

MAX_COLOURS = 7  # in the style sheet
MAX_LABEL_LENGTH = 24  # letters
LABEL_WIDTH, LABEL_HEIGHT = 40, 7  # per cent of a narrow chart
LETTER_WIDTH = 0.8  # per cent of a wide chart


class Cost(NamedTuple):
    """One kind of cost of a variant."""

    label: str
    unit: str
    of: Callable[[Row], float | None]


COSTS = {
    "seconds": Cost("Seconds per epoch", "seconds", lambda row: row.seconds_per_epoch and row.seconds_per_epoch.value),
    "parameters": Cost("Parameters", "parameters", lambda row: row.parameters),
    "memory": Cost("Peak memory", "MB", lambda row: row.peak_memory_mb),
}


class Point(NamedTuple):
    """Coordinates of a mark and of its interval, in per cent of the chart."""

    left: float
    top: float
    interval_top: float
    interval_bottom: float


class PointStyle(NamedTuple):
    """Colours and shapes of the variants' marks."""

    colours: Mapping[str, int]  # by the value of the first factor
    shapes: Mapping[str, Shape]  # by that of the second
    first: str | None
    second: str | None

    def of(self, row: Row) -> tuple[Shape, str]:
        shape = self.shapes.get(factor_value(row.variant, self.second)) if self.second else None
        return shape or "circle", self.colour(factor_value(row.variant, self.first)) if self.first else "s0"

    def colour(self, value: str) -> str:
        return f"s{self.colours[value]}"


def cost(comparison: Comparison) -> Section | None:
    """A chart of the compared score against each cost, with the names of the variants on the Pareto front."""
    metric, style = comparison.metric, _point_style(comparison)
    charts = {}
    for name, kind in COSTS.items():
        points = [(row, amount) for row in comparison.rows if metric in row.metrics and (amount := kind.of(row))]
        if len(points) > 1:
            charts[name] = _chart(points, kind, metric, style)
    if not charts:
        return None
    labels = {name: COSTS[name].label for name in charts}
    tools = tag("div", picker("cost", "Against", labels), _key(style), class_="pickers")
    caption = (
        "Means over seeds with their 95 % intervals. Labels name the variants on the Pareto front (no cheaper variant "
        "is better), as far as space permits; hover over a mark for its name. Seconds: median epoch of a run, without "
        "validation, on the training machine. Memory: maximum over runs, of the accelerator or, without one, of the "
        "process."
    )
    return Section("cost", f"{heading(metric)} against cost", caption, join(tools, panes("cost", charts)))


def _chart(points: Sequence[tuple[Row, float]], cost: Cost, metric: str, style: PointStyle) -> Html:
    x = log_scale(amount for _, amount in points)
    y = linear_scale((end for row, _ in points for end in row.metrics[metric] if end is not None), ticks=5)
    marks, placed, best, frontier = [], [], None, []
    for row, amount in sorted(points, key=lambda pair: pair[1]):
        score, low, high = row.metrics[metric]
        left, top = x.position(amount), y.from_top(score)
        shape, colour = style.of(row)
        placed.append(
            Point(left, top, top if high is None else y.from_top(high), top if low is None else y.from_top(low))
        )
        if low is not None and high is not None:
            marks.append(vertical_interval(left, y.from_top(low), y.from_top(high), colour))
        marks.append(
            dot(
                left,
                top,
                shape,
                colour,
                f"{row.variant.name}: {format_score(score)}, {format_compact(amount)} {cost.unit}",
            )
        )
        if best is None or (score < best if metric in LOWER_IS_BETTER else score > best):
            best = score
            frontier.append((row.variant.name, placed[-1]))
    marks = [*_labels(frontier[::-1], placed), *marks]  # names behind marks, since they may overlap in a narrow chart
    description = f"{heading(metric)} of {len(points)} variants against {cost.label.lower()}"
    return plot(
        x, y, join(*marks), x_label=f"{cost.label} (log scale)", y_label=heading(metric), description=description
    )


def _labels(frontier: Sequence[tuple[str, Point]], points: Sequence[Point]) -> list[Html]:
    """Names beside their marks, on a free side, in order of priority; names without a free side are omitted."""
    labelled: list[Point] = []
    labels = []
    for text, point in frontier:
        label = clean_text(text, MAX_LABEL_LENGTH)
        sides = (1, -1) if point.left < 50 else (-1, 1)
        side = next((side for side in sides if _is_free(point, side * LETTER_WIDTH * len(label), points)), None)
        if side is None or any(
            abs(point.left - x) < LABEL_WIDTH and abs(point.top - y) < LABEL_HEIGHT for x, y, *_ in labelled
        ):
            continue
        labelled.append(point)
        kind = "name" if side > 0 else "name before"
        labels.append(tag("text", label, x=f"{point.left}%", y=f"{point.top}%", dx=9 * side, dy="-0.55em", class_=kind))
    return labels


def _is_free(point: Point, width: float, points: Sequence[Point]) -> bool:
    """Whether a label of this width (negative: to the left) fits in the chart and overlaps no mark."""
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
    first = next((name for name, values in varying.items() if len(values) <= MAX_COLOURS), None)
    second = next((name for name, values in varying.items() if name != first and len(values) <= len(SHAPES)), None)
    colours = {value: index for index, value in enumerate(varying[first])} if first else {}
    shapes = dict(zip(varying[second], SHAPES, strict=False)) if second else {}
    return PointStyle(colours, shapes, first, second)


def _key(style: PointStyle) -> Html:
    """The legend of colours and shapes."""

    def entry(shape: Shape, kind: str, text: str) -> Html:
        symbol = tag("svg", mark(shape), class_=f"dot {kind}", viewBox="-7 -7 14 14", aria_hidden="true")
        return tag("li", symbol, text)

    coloured = [entry("circle", style.colour(value), value) for value in style.colours]
    shaped = [entry(shape, "soft", value) for value, shape in style.shapes.items()]
    lists = [tag("ul", *entries, class_="key") for entries in (coloured, shaped) if entries]
    return join(*lists)

"""What a score costs: in seconds, parameters and memory."""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from src.comparison.comparison import Comparison
from src.comparison.page.facts import factors, value
from src.comparison.page.names import heading
from src.comparison.rows import Row
from src.comparison.scores import LOWER_IS_BETTER
from src.reports.page.chart import SHAPES, Shape, dot, linear_scale, log_scale, mark, plot, vertical_interval
from src.reports.page.document import Section
from src.reports.page.formatting import format_compact, format_score
from src.reports.page.html import Html, join, tag
from src.reports.page.selector import panes, picker
from src.reports.words import clean_text

COLOURS = 7  # of the style sheet
LONGEST = 24  # letters of a name in a chart
WIDE, HIGH = 40, 7  # per cent of a narrow chart that it takes up
LETTER = 0.8  # per cent of a wide chart that a letter takes up


class Cost(NamedTuple):
    """One of the things that a variant costs."""

    label: str
    unit: str
    of: Callable[[Row], float | None]


COSTS = {
    "seconds": Cost("Seconds an epoch", "seconds", lambda row: row.seconds_per_epoch and row.seconds_per_epoch.value),
    "parameters": Cost("Parameters", "parameters", lambda row: row.parameters),
    "memory": Cost("Peak memory", "MB", lambda row: row.peak_memory_mb),
}


class Spot(NamedTuple):
    """Where a mark stands with its interval, in per cent of the chart."""

    left: float
    top: float
    highest: float
    lowest: float


class Look(NamedTuple):
    """How a variant's mark is told from the others': its colour and its shape."""

    colours: Mapping[str, int]  # by the value of the first factor
    shapes: Mapping[str, Shape]  # by that of the second
    first: str | None
    second: str | None

    def of(self, row: Row) -> tuple[Shape, str]:
        shape = self.shapes.get(value(row.variant, self.second)) if self.second else None
        return shape or "circle", self.colour(value(row.variant, self.first)) if self.first else "s0"

    def colour(self, held: str) -> str:
        return f"s{self.colours[held]}"


def cost(comparison: Comparison) -> Section | None:
    """The compared score against each cost; the names are of those variants that no cheaper one beats."""
    metric, look = comparison.metric, _look(comparison)
    charts = {}
    for name, held in COSTS.items():
        points = [(row, price) for row in comparison.rows if metric in row.metrics and (price := held.of(row))]
        if len(points) > 1:
            charts[name] = _chart(points, held, metric, look)
    if not charts:
        return None
    labels = {name: COSTS[name].label for name in charts}
    tools = tag("div", picker("cost", "Against", labels), _key(look), class_="pickers")
    caption = (
        "Means over seeds with their 95 % intervals. Names are those of variants that no cheaper one beats, as far as "
        "there is room; hover over a mark for its name. Seconds: the median epoch of a run, without validation, on the "
        "machine that trained. Memory: the highest of the runs; the accelerator's where there is one, else the "
        "process's."
    )
    return Section("cost", f"{heading(metric)} against cost", caption, join(tools, panes("cost", charts)))


def _chart(points: Sequence[tuple[Row, float]], cost: Cost, metric: str, look: Look) -> Html:
    x = log_scale(price for _, price in points)
    y = linear_scale((end for row, _ in points for end in row.metrics[metric] if end is not None), ticks=5)
    marks, spots, best, frontier = [], [], None, []
    for row, price in sorted(points, key=lambda point: point[1]):
        score, low, high = row.metrics[metric]
        left, top = x.position(price), y.from_top(score)
        shape, colour = look.of(row)
        spots.append(
            Spot(
                left,
                top,
                top if high is None else y.from_top(high),
                top if low is None else y.from_top(low),
            )
        )
        if low is not None and high is not None:
            marks.append(vertical_interval(left, y.from_top(low), y.from_top(high), colour))
        marks.append(
            dot(
                left,
                top,
                shape,
                colour,
                f"{row.variant.name}: {format_score(score)}, {format_compact(price)} {cost.unit}",
            )
        )
        if best is None or (score < best if metric in LOWER_IS_BETTER else score > best):
            best = score
            frontier.append((row.variant.name, spots[-1]))
    marks = [*_names(frontier[::-1], spots), *marks]  # names below marks, where a narrow chart brings them together
    description = f"{heading(metric)} of {len(points)} variants against {cost.label.lower()}"
    return plot(
        x, y, join(*marks), x_label=f"{cost.label} (log scale)", y_label=heading(metric), description=description
    )


def _names(frontier: Sequence[tuple[str, Spot]], spots: Sequence[Spot]) -> list[Html]:
    """Names beside their marks, on a side where there is room; the first come first, the rest as they fit."""
    taken: list[Spot] = []
    names = []
    for text, spot in frontier:
        short = clean_text(text, LONGEST)
        sides = (1, -1) if spot.left < 50 else (-1, 1)
        side = next((side for side in sides if _free(spot, side * LETTER * len(short), spots)), None)
        if side is None or any(abs(spot.left - x) < WIDE and abs(spot.top - y) < HIGH for x, y, *_ in taken):
            continue
        taken.append(spot)
        kind = "name" if side > 0 else "name before"
        names.append(tag("text", short, x=f"{spot.left}%", y=f"{spot.top}%", dx=9 * side, dy="-0.55em", class_=kind))
    return names


def _free(spot: Spot, width: float, spots: Sequence[Spot]) -> bool:
    """Whether a name so wide (to the left, if below 0) stays within the chart and clear of all marks."""
    first, last = sorted((spot.left, spot.left + width))
    inside = first >= 0 and last <= 100
    return inside and not any(
        first < other.left < last and other.highest - 1 < spot.top - 2 and other.lowest + 1 > spot.top - HIGH
        for other in spots
    )


def _look(comparison: Comparison) -> Look:
    varying = factors(comparison)
    first = next((name for name, values in varying.items() if len(values) <= COLOURS), None)
    second = next((name for name, values in varying.items() if name != first and len(values) <= len(SHAPES)), None)
    colours = {held: at for at, held in enumerate(varying[first])} if first else {}
    shapes = dict(zip(varying[second], SHAPES, strict=False)) if second else {}
    return Look(colours, shapes, first, second)


def _key(look: Look) -> Html:
    """What colours and shapes stand for."""

    def entry(shape: Shape, kind: str, text: str) -> Html:
        drawn = tag("svg", mark(shape), class_=f"dot {kind}", viewBox="-7 -7 14 14", aria_hidden="true")
        return tag("li", drawn, text)

    coloured = [entry("circle", look.colour(held), held) for held in look.colours]
    shaped = [entry(shape, "soft", held) for held, shape in look.shapes.items()]
    lists = [tag("ul", *entries, class_="key") for entries in (coloured, shaped) if entries]
    return join(*lists)

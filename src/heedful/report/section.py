"""The content of a report, independent of its format: sections of tables, dots, matrices, texts and maps."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from heedful.base.formatting import format_count
from heedful.report.numbers import UNKNOWN, format_known, format_percent


class Heat(str):
    """A cell whose background shows a number, the depth of the colour from 0 to 1."""

    depth: float

    def __new__(cls, text: str, depth: float) -> "Heat":
        cell = super().__new__(cls, text)
        cell.depth = depth
        return cell


@dataclass(frozen=True)
class Table:
    """A table; the first column is text, and the other columns are numbers, except those named in `text_columns`."""

    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    title: str = ""
    text_columns: frozenset[str] = frozenset(("verdict", "status", "reason", "numbers", "source"))

    def has_numbers(self, column: int) -> bool:
        return column > 0 and self.head[column] not in self.text_columns


class ColouredWord(NamedTuple):
    """A word of a text with its colour."""

    text: str
    depth: float  # depth of the colour, 0 to 1; negative for another colour
    tooltip: str


@dataclass(frozen=True)
class Strip:
    """A text whose words are coloured by their weights."""

    title: str
    words: Sequence[ColouredWord]
    is_open: bool = True  # whether the words are visible before a click on the title


@dataclass(frozen=True)
class Maps:
    """Word × word weights of a text, L×L each, by the name of the layer and head."""

    words: Sequence[str]
    weights: dict[str, np.ndarray]


@dataclass(frozen=True)
class Lines:
    """Lines of text; the lines after the first are visible after a click, or all of them if `is_open`."""

    lines: Sequence[str]
    is_open: bool = False


class Dot(NamedTuple):
    """A value on an axis, with its interval, a dashed mark and further values."""

    label: str
    value: float | None
    low: float | None = None
    high: float | None = None
    mark: float | None = None
    text: str = ""  # in place of the value and its interval
    tone: str = ""  # best, grey or bad
    rings: Sequence[float] = ()  # such as the value of each seed
    strokes: Sequence[tuple[float, bool]] = ()  # texts: their value, and whether it should be high
    choice: tuple[str, str] | None = None  # a column of `Texts`, and the value to which the row filters them


def axis_ends(numbers: Sequence[float], is_share: bool) -> tuple[float, float]:
    """Return the ends of an axis that shows these numbers with some space; those of shares are multiples of 5 %."""
    low, high = min(numbers), max(numbers)
    if is_share:
        return max(0.0, math.floor(20 * low - 0.5) / 20), min(1.0, math.ceil(20 * high + 0.5) / 20)
    edge = 0.05 * (high - low or 1.0)
    return low - edge, high + edge


@dataclass(frozen=True)
class Dots:
    """Values with intervals on one axis, a row each; shares are shown in percent."""

    rows: Sequence[Dot]
    title: str
    ends: tuple[float, float] = (0.0, 1.0)
    is_share: bool = True
    heads: tuple[str, str] = ("model", "mark")  # of the rows, and of the marks in a table

    def place(self, value: float) -> float:
        """Return where a value is on the axis, 0 to 1."""
        low, high = self.ends
        return min(1.0, max(0.0, (value - low) / (high - low))) if high > low else 0.5

    def format(self, value: float | None) -> str:
        return format_percent(value) if self.is_share else format_known(value)

    @cached_property
    def ticks(self) -> list[tuple[float, str]]:
        """The places of round numbers on the axis, and these numbers."""
        low, high = self.ends
        step = 10.0 ** np.floor(np.log10(max(high - low, 1e-12)))
        step = next((step * part for part in (0.1, 0.2, 0.25, 0.5) if (high - low) / (step * part) <= 5.01), step)
        numbers = np.arange(np.ceil(low / step - 1e-9), np.floor(high / step + 1e-9) + 1) * step
        return [(self.place(x), f"{100 * x:.4g} %" if self.is_share else f"{x:.4g}") for x in (numbers + 0.0).tolist()]

    def describe(self, dot: Dot) -> str:
        """Return the value with its interval, or the text in its place."""
        bounds = (
            "" if dot.low is None else f" ({self.format(dot.low)} to {self.format(dot.high)})".replace(" % to", " to")
        )
        return dot.text or f"{self.format(dot.value)}{bounds}"

    @property
    def table(self) -> Table:
        has_marks = any(dot.mark is not None for dot in self.rows)
        rows = [[dot.label, self.describe(dot), *([self.format(dot.mark)] if has_marks else [])] for dot in self.rows]
        head = [self.heads[0], "value", *(self.heads[1:] if has_marks else ())]
        return Table(head, rows, self.title)


@dataclass(frozen=True)
class Matrix:
    """How many texts of each true class (rows) are predicted as each class (columns): C×C, and bars of the classes."""

    names: Sequence[str]
    counts: np.ndarray
    max_classes: int = 14  # with more, those with the most mistakes are shown

    @cached_property
    def missed(self) -> np.ndarray:
        return self.counts.sum(1) - self.counts.diagonal()

    @cached_property
    def alarms(self) -> np.ndarray:
        """The number of texts of other classes that are taken for each class."""
        return self.counts.sum(0) - self.counts.diagonal()

    @property
    def order(self) -> list[int]:
        """The classes with the most mistakes first."""
        return np.argsort(-(self.missed + self.alarms), kind="stable").tolist()

    @property
    def shown(self) -> list[int]:
        return sorted(self.order[: self.max_classes])

    @property
    def largest(self) -> int:
        return int((self.counts.sum(1) + self.alarms).max())

    def describe(self, c: int) -> str:
        alarms = format_count(int(self.alarms[c]), "false alarm")
        return f"{self.missed[c]:,} of {self.counts[c].sum():,} missed, {alarms}"

    @property
    def table(self) -> Table:
        rows = [[self.names[a], *(f"{self.counts[a, b]:,}" for b in self.shown)] for a in self.shown]
        return Table(["true \\ predicted", *(self.names[b] for b in self.shown)], rows)


class Limit(NamedTuple):
    """The texts that are answered from a confidence: their number, the wrong ones, and the interval of their share."""

    confidence: float
    texts: int
    wrong: int
    low: float | None
    high: float | None


@dataclass(frozen=True)
class Coverage:
    """What happens if only the most certain of n texts are answered, and a person reads the others."""

    limits: Sequence[Limit]  # from high to low confidence; the last one has all texts
    note: str = ""

    @property
    def total(self) -> int:
        return self.limits[-1].texts

    def at(self, share: float) -> int:
        """Return the number of the limit whose share of texts is the nearest."""
        return min(range(len(self.limits)), key=lambda i: abs(self.limits[i].texts / self.total - share))

    @property
    def table(self) -> Table:
        shown = [self.limits[i] for i in dict.fromkeys(map(self.at, (1, 0.95, 0.9, 0.8, 0.7, 0.5)))]
        rows = [
            [format_percent(limit.texts / self.total), format_percent(limit.wrong / limit.texts)] for limit in shown
        ]
        return Table(["answered", "of these wrong"], rows, "If it answers only when it is sure")


@dataclass(frozen=True)
class Texts:
    """Texts that a page filters and colours; the keys of their records are those that page.js reads.

    Args:
        rows: of each text t, its true label y and its prediction k (numbers in `names`, or texts), its confidence c,
            its place o, its cells s in `columns`, x if it is a mistake, its words w, and their weights by `modes`,
            as integers.
        presets: the key, the name and the number of texts of each choice of texts.
        modes: the key and the name of each way to colour words.
        scales: the number by which the weights of each mode were multiplied.
        variants: the letter, the name and the number of seeds of each model, whose answers v the texts have.
        total: the number of texts of the split.
    """

    rows: Sequence[dict[str, Any]]
    total: int
    names: Sequence[str] = ()
    presets: Sequence[tuple[str, str, int]] = ()
    modes: Sequence[tuple[str, str]] = ()
    columns: Sequence[tuple[str, Sequence[tuple[str, int]]]] = ()
    variants: Sequence[tuple[str, str, int]] = ()
    measure: str = "log odds"  # of the weights r and b
    unit: float = 1.0  # a weight r that is not small
    scales: Mapping[str, int] = field(default_factory=dict)

    def label(self, value: int | str) -> str:
        return self.names[value] if isinstance(value, int) else value

    @property
    def data(self) -> dict[str, Any]:
        """What the page's script reads."""
        return {part.name: getattr(self, part.name) for part in fields(self)}

    def answer(self, row: dict[str, Any]) -> str:
        """Return the prediction, or that of each variant with the number of seeds that are right."""
        if not self.variants:
            return self.label(row["k"])
        pairs = zip(self.variants, row["v"], strict=True)
        return " · ".join(f"{letter} {self.label(k)} ({right} of {seeds})" for (letter, _, seeds), (right, k) in pairs)

    @property
    def table(self) -> Table:
        rows = [[f"{row['t']:.200}", self.label(row["y"]), self.answer(row)] for row in self.rows[:10]]
        return Table(["text", "true", "predicted"], rows, text_columns=frozenset(("true", "predicted")))


@dataclass(frozen=True)
class Command:
    """A command to copy."""

    title: str
    text: str

    @property
    def table(self) -> Table:
        return Table(["what", "command"], [[self.title, self.text]], text_columns=frozenset(("command",)))


@dataclass(frozen=True)
class Link:
    """Another page, by its path from this one."""

    title: str
    path: str

    @property
    def table(self) -> Table:
        return Table(["page", "file"], [[self.title, self.path]], text_columns=frozenset(("file",)))


@dataclass(frozen=True)
class Warning:
    """What may be wrong, and what to do about it: words with a command or an option after a colon, or ""."""

    text: str
    remedy: str = ""
    code: str = ""

    @property
    def table(self) -> Table:
        remedy = " ".join(part for part in (self.remedy, self.code) if part) or UNKNOWN
        return Table(["warning", "remedy"], [[self.text, remedy]], text_columns=frozenset(("remedy",)))


@dataclass(frozen=True)
class Columns:
    """Content side by side, where there is space."""

    content: Sequence["Content"]


@dataclass(frozen=True)
class Group:
    """Content that belongs together, with a heading; closed until a click if `is_open` is false."""

    title: str
    content: Sequence["Content"]
    is_open: bool = True


Tabular: TypeAlias = Dots | Matrix | Coverage | Texts | Command | Link | Warning  # have a table for other formats
Content: TypeAlias = Table | Strip | Maps | Lines | Group | Columns | Tabular


@dataclass(frozen=True)
class Section:
    """A part of a report with its heading and a note that explains the numbers; without a title, the head of a page."""

    title: str
    content: Sequence[Content]
    note: str = ""
    is_folded: bool = False  # on a page, where it then follows the others

"""The content of a report, independent of its format: sections of tables, charts, texts and maps."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np

if TYPE_CHECKING:  # a prediction draws nothing
    from pathlib import Path

    from matplotlib.figure import Figure


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


@dataclass(frozen=True)
class Chart:
    """A figure of matplotlib; `name` is its file name without the suffix."""

    name: str
    figure: "Figure"
    description: str  # for screen readers
    png: "Path | None" = None  # the saved figure, which a page embeds instead of drawing it again


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
    """Lines of text; the lines after the first are visible after a click."""

    lines: Sequence[str]


@dataclass(frozen=True)
class Group:
    """Content that belongs together, with a heading; closed until a click if `is_open` is false."""

    title: str
    content: Sequence["Content"]
    is_open: bool = True


Content: TypeAlias = Table | Chart | Strip | Maps | Lines | Group


@dataclass(frozen=True)
class Section:
    """A part of a report with its heading and a note that explains the numbers."""

    title: str
    content: Sequence[Content]
    note: str = ""

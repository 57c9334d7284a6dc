"""What a model reads of a row: one text, or the two of a pair, and the cells of further columns.

The options `data.text=[premise,hypothesis]` and `data.columns=[age,country]` name them.
"""

import logging
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from pydantic import BaseModel, ConfigDict

from heedful import runtime
from heedful.base.errors import UserError
from heedful.base.formatting import format_list
from heedful.data.columns import Column, encode_columns
from heedful.data.tables import Rows
from heedful.runtime import MARK

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

log = logging.getLogger(__name__)
SEPARATOR = f" {MARK} "  # the mark is the token of a learned vocabulary; no part contains it
NO_CELLS: Mapping[str, str | None] = MappingProxyType({})
PAIRS = "give both: text=… second=…, text_column=[…,…], lines with a tab between the texts, or tuples in Python"
SINGLE = "name one column, or give one text for each"


class Text(str):
    """What a model reads of a row; a program that knows nothing of pairs reads one text with SEPARATOR in it.

    Args:
        parts: the text, or the two texts of a pair, in which a space replaces each MARK.
        cells: the cells of further columns in the row, by name.
        place: of the row, for messages.
    """

    parts: tuple[str, ...]
    cells: Mapping[str, str | None]
    place: str

    def __new__(cls, parts: Sequence[str], cells: Mapping[str, str | None] = NO_CELLS, place: str = "") -> Self:
        own = tuple(part.replace(MARK, " ") for part in parts) if len(parts) > 1 else tuple(parts)
        self = super().__new__(cls, SEPARATOR.join(own))
        self.parts, self.cells, self.place = own, cells, place
        return self

    def __getnewargs__(self) -> tuple[Any, ...]:  # of a copy
        return self.parts, dict(self.cells), self.place

    def __getstate__(self) -> None:
        return None


class TextForm(BaseModel):
    """What a model reads of each row."""

    model_config = ConfigDict(frozen=True)

    pairs: bool = False  # whether each text is a pair
    columns: list[Column] = []  # that the model reads beside the text

    @property
    def features(self) -> int:
        """The number K of the features of the columns."""
        return sum(len(column.features) for column in self.columns)

    def form(self) -> dict[str, Any]:
        """Return the fields of this class, without those of a subclass."""
        return {name: getattr(self, name) for name in TextForm.model_fields}

    def check(self, are_pairs: bool, where: str = "texts") -> None:
        """Raise a UserError if the model reads pairs, but these texts are none, or the other way round."""
        if are_pairs != self.pairs:
            expected = "pairs of texts" if self.pairs else "single texts, not pairs"
            raise UserError(f"{where}: the model reads {expected}: {PAIRS if self.pairs else SINGLE}")

    def encode_columns(self, texts: Sequence[str]) -> "csr_matrix | None":
        """Return the features of the columns, n×K; None if there are none. Cells that a text does not know are missing.

        Raises:
            UserError: if the texts are not of this form: pairs or single, with numbers in columns of numbers.
        """
        for are_pairs in {len(parts_of(text)) > 1 for text in texts}:
            self.check(are_pairs)
        if not self.columns:
            return None
        by_text = [getattr(text, "cells", NO_CELLS) for text in texts]
        cells = {column.name: [own.get(column.name) for own in by_text] for column in self.columns}

        def where(rows: Sequence[int]) -> str:
            return getattr(texts[rows[0]], "place", "") or f"text {rows[0] + 1}"

        return encode_columns(self.columns, cells, where)[0]


SINGLE_TEXTS = TextForm()


def join_parts(parts: Sequence[str], cells: Mapping[str, str | None] = NO_CELLS, place: str = "") -> str:
    """Return a text without cells itself, and else the `Text`."""
    return parts[0] if len(parts) == 1 and not cells else Text(parts, cells, place)


def join_cells(rows: Rows, parts: Sequence[Sequence[str]], columns: Sequence[str]) -> list[str]:
    """Return the text of each row: its parts, and its cells in `columns`."""
    if not columns:
        return list(map(join_parts, parts))
    places = [f"{rows.source}: {rows.unit} {place}" for place in rows.places]
    cells = zip(*map(rows.spelled, columns), strict=True)
    by_row = zip(parts, cells, places, strict=True)
    return [Text(own, dict(zip(columns, values, strict=True)), place) for own, values, place in by_row]


def warn_of_missing(columns: Sequence[str]) -> None:
    """Log that texts are read without the columns that a model reads beside them."""
    log.warning(
        "The model also reads %s, which are missing and count as empty: give a table with them",
        format_list(columns, plain=True),
    )


def parts_of(text: str) -> tuple[str, ...]:
    """Return the two parts of a pair, or a single text as the only part."""
    return text.parts if isinstance(text, Text) else (text,)


def plain_text(text: str) -> str | list[str]:
    """Return a text as JSON contains it: a pair is a list of two."""
    parts = parts_of(text)
    return list(parts) if len(parts) > 1 else text


def is_blank(text: str) -> bool:
    """Return whether a text, or a part of a pair, has no letters but whitespace."""
    return runtime.is_blank(parts_of(text))


def list_rows(texts: Any) -> list[Any]:
    """Return the texts or pairs that a program gives; a frame or an array has a column for each part of a text."""
    rows = np.asarray(texts) if hasattr(texts, "to_numpy") else texts
    return list(rows[:, 0] if getattr(rows, "ndim", 1) == 2 and rows.shape[1] == 1 else rows)


def as_text(value: Any) -> str:
    """Return a text that a program gives; a sequence of two texts is a pair.

    Raises:
        TypeError: if `value` is anything else.
        UnicodeEncodeError: if a text contains half of a surrogate pair.
    """
    parts = [value] if isinstance(value, str) else list(value) if hasattr(value, "__len__") else []
    if not all(isinstance(part, str) for part in parts) or len(parts) != (1 if isinstance(value, str) else 2):
        raise TypeError
    for part in parts:
        part.encode()
    return value if isinstance(value, str) else Text(parts)

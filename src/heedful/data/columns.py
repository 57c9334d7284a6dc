"""Further columns of the data, beside the texts: numbers and dates are standardized, and categories are told apart."""

import logging
import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, NamedTuple, Self

import numpy as np
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, FiniteFloat

from heedful import runtime
from heedful.base.errors import UserError
from heedful.base.formatting import format_repr
from heedful.data.table import Where

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

log = logging.getLogger(__name__)
MAX_CATEGORIES = 1000
MISSING = "(missing)"
ONE_VALUE = "data.columns: all training texts have the same value in column {!r}: remove it"
CATEGORIES = "If the numbers stand for categories, write them as text, such as 'c1' for 1"
CORRECT = f": correct it, or leave the cell empty. {CATEGORIES}"


class Coverage(NamedTuple):
    """In how many texts a column has no value, and in how many a category without training texts."""

    missing: int
    unseen: int


class ColumnField(BaseModel, ABC):
    """How the cells of a column become features, as its training cells determine it; `runtime.encode` encodes them."""

    model_config = ConfigDict(frozen=True)

    name: str
    kind: str

    @property
    @abstractmethod
    def features(self) -> list[str]:
        """The names of the features."""

    @property
    @abstractmethod
    def example(self) -> Any:
        """A cell, for the README of an export."""

    @abstractmethod
    def describe(self) -> str:
        """Return the kind of the column in words."""

    @classmethod
    @abstractmethod
    def fit(cls, name: str, cells: Sequence[str | None], where: Where) -> Self | None:
        """Return the column of these spelled training cells; None if they are of another kind."""

    def encode(self, cells: Sequence[Any], where: Where) -> "tuple[csr_matrix, Coverage]":
        """Return the features of n cells, n × the number of `features`, and how many have no value or are unseen."""
        from scipy.sparse import csr_matrix  # slow, and few models have columns

        try:
            entries = runtime.encode(self.model_dump(), cells)
        except runtime.Fault as fault:
            raise UserError(f"{where([fault.row])}: {fault}. {CATEGORIES}") from None
        values, shape = entries.values.astype(np.float32), (len(cells), entries.width)
        return csr_matrix((values, (entries.rows, entries.columns)), shape), Coverage(entries.missing, entries.unseen)


class _Scaled(ColumnField):
    """A quantity has two features: (value - mean) / scale, and whether the cell is missing; then the first is 0."""

    mean: FiniteFloat = 0.0
    scale: Annotated[FiniteFloat, Field(gt=0)] = 1.0  # the standard deviation of the training cells; 1 if that is 0

    @property
    def features(self) -> list[str]:
        return [self.name, f"{self.name} {MISSING}"]

    def describe(self) -> str:
        return f"{self.kind}, mean {self.mean:.4g}, standard deviation {self.scale:.4g}"

    @classmethod
    def fit(cls, name: str, cells: Sequence[str | None], where: Where) -> Self | None:
        kind = cls.model_fields["kind"].default
        parse = runtime.QUANTITIES[kind]
        values = runtime.parse_all(cells, parse)
        known, wrong = values[np.isfinite(values)], np.flatnonzero(np.isinf(values)).tolist()
        if len(known) > len(wrong) > 0:
            held = f"column {name!r} holds {format_repr(cells[wrong[0]])}, but most of its cells are "
            remedy = runtime.number_remedy(cell for cell in cells if cell and not math.isnan(parse(cell)))
            remedy = f": {remedy}. {CATEGORIES}" if remedy else CORRECT
            raise UserError(f"{where(wrong)}: {held}{kind}s{remedy}")
        if wrong or not len(known):
            return None
        if np.ptp(known) == 0 and len(known) == len(values):
            raise UserError(ONE_VALUE.format(name))
        return cls.model_validate({"name": name, "mean": float(known.mean()), "scale": float(known.std()) or 1.0})


class NumberField(_Scaled):
    """A number."""

    kind: Literal["number"] = "number"
    example: ClassVar = 31

    @classmethod
    def fit(cls, name: str, cells: Sequence[str | None], where: Where) -> Self | None:
        written = {cell for cell in cells if cell}
        large = {int(cell) for cell in written if 15 < len(cell) < 100 and cell.lstrip("+-").isdecimal()}
        if len(set(map(float, large))) < len(large):
            return None  # numbers beyond 2**53, which would be equal
        column = super().fit(name, cells, where)
        plain = sorted(filter(str.isdecimal, written))
        grouped = sorted(cell for cell in written.difference(plain) if runtime.NumberForm(",", ".").plain(cell))
        if column and grouped and plain and len(grouped) + len(plain) == len(written):
            remedy = "if the point separates thousands, set data.thousands=point"
            log.warning("Column %r holds %s beside %s: %s", name, grouped[0], plain[0], remedy)
        return column


class DateField(_Scaled):
    """A date or time stamp, as the days since 1970."""

    kind: Literal["date"] = "date"
    example: ClassVar = "2024-01-31"

    def describe(self) -> str:
        mean = np.datetime64(0, "s") + np.timedelta64(round(self.mean * 86400), "s")
        return f"date, mean {np.datetime_as_string(mean, 'D')}, standard deviation {self.scale:.4g} days"


class CategoryField(ColumnField):
    """A feature for each category, 1 in texts of this category and 0 in others, and one for missing cells.

    All features of a category without training texts are 0.
    """

    kind: Literal["category"] = "category"
    categories: list[str]  # sorted

    @property
    def features(self) -> list[str]:
        return [*(f"{self.name}={category}" for category in self.categories), f"{self.name} {MISSING}"]

    @property
    def example(self) -> str:
        return self.categories[0]

    def describe(self) -> str:
        return f"{len(self.categories):,} categories"

    @classmethod
    def fit(cls, name: str, cells: Sequence[str | None], where: Where) -> Self:
        if len(set(cells)) < 2:
            raise UserError(ONE_VALUE.format(name))
        categories = sorted({cell for cell in cells if cell is not None})
        if remedy := runtime.number_remedy(categories):
            row = next(row for row, cell in enumerate(cells) if cell and not runtime.PLAIN.plain(cell))
            held = f"column {name!r} holds {cells[row]!r}, and all cells look like numbers"
            raise UserError(f"{where([row])}: {held}: {remedy}. {CATEGORIES}")
        if len(categories) > MAX_CATEGORIES:
            raise UserError(
                f"data.columns: column {name!r} has {len(categories):,} categories, such as "
                f"{format_repr(categories[0])}, but may have at most {MAX_CATEGORIES:,}: it may be a name or a second "
                "text; remove it, or join rare categories"
            )
        return cls(name=name, categories=categories)


KINDS: tuple[type[ColumnField], ...] = (NumberField, DateField, CategoryField)  # the first that suits the cells


def _with_kind(value: Any) -> Any:
    """Accept a column of an earlier version, which has no kind; numbers have no categories."""
    if not isinstance(value, dict):
        return value
    kind = runtime.kind_of(value)
    return {"kind": kind} | {key: item for key, item in value.items() if item is not None or key != "categories"}


Column = Annotated[
    Annotated[NumberField | DateField | CategoryField, Field(discriminator="kind")], BeforeValidator(_with_kind)
]


def fit_column(name: str, cells: Sequence[Any], where: Where) -> Any:
    """Return the column of these training cells.

    Raises:
        UserError: if all cells are equal, most but not all are of one kind, or there are too many categories.
    """
    spelled = runtime.spell_all(cells)
    return next(column for kind in KINDS if (column := kind.fit(name, spelled, where)) is not None)

"""Further columns of the data, beside the texts: numbers are standardized, and categories are told apart."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, Self

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, FiniteFloat

from heedful import runtime
from heedful.base.errors import UserError
from heedful.base.formatting import format_repr

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

MAX_CATEGORIES = 1000
MISSING = "(missing)"
CORRECT = (
    ": correct it, or leave the cell empty. If the numbers stand for categories, write them as text, such as 'c1' for 1"
)
Where = Callable[[Sequence[int]], str]  # names the places of rows, such as "a.csv: lines 3, 9"


class Coverage(NamedTuple):
    """In how many texts a column has no value, and in how many a category without training texts."""

    missing: int
    unseen: int


class Column(BaseModel):
    """How the cells of a column become features, as its training cells determine it.

    A number has two features: (number − mean) / scale, and whether the cell is missing, in which case the first is 0.
    Another column has a feature for each category, 1 in texts of this category and 0 in others, and one for missing
    cells. All features of a category without training texts are 0.

    Args:
        scale: the standard deviation of the training cells; 1 if that is 0.
        categories: sorted; None for a column of numbers.
    """

    model_config = ConfigDict(frozen=True)

    name: str
    mean: FiniteFloat = 0.0
    scale: Annotated[FiniteFloat, Field(gt=0)] = 1.0
    categories: list[str] | None = None

    @property
    def features(self) -> list[str]:
        """The names of the features."""
        values = [self.name] if self.categories is None else [f"{self.name}={each}" for each in self.categories]
        return [*values, f"{self.name} {MISSING}"]

    def describe(self) -> str:
        """Return the kind of the column in words."""
        if self.categories is None:
            return f"number, mean {self.mean:.4g}, standard deviation {self.scale:.4g}"
        return f"{len(self.categories):,} categories"

    @classmethod
    def fit(cls, name: str, cells: Sequence[str | None], where: Where) -> Self:
        """Return the column of these training cells: of numbers if all cells with a value are numbers.

        Raises:
            UserError: if all cells are equal, most but not all are numbers, or there are too many categories.
        """
        spelled = runtime.spell_all(cells)
        numbers = runtime.parse_all(spelled, runtime.number_of)
        values, wrong = numbers[np.isfinite(numbers)], np.flatnonzero(np.isinf(numbers)).tolist()
        if len(values) > len(wrong) > 0:
            held = f"column {name!r} holds {format_repr(cells[wrong[0]])}, but most of its cells are numbers"
            raise UserError(f"{where(wrong)}: {held}{CORRECT}")
        distinct = set(spelled) if wrong else set(np.unique(numbers).tolist())
        if len(distinct) < 2:
            raise UserError(f"data.columns: all training texts have the same value in column {name!r}: remove it")
        if not wrong:
            return cls(name=name, mean=float(values.mean()), scale=float(values.std()) or 1.0)
        categories = sorted({text for text in spelled if text is not None})
        if len(categories) > MAX_CATEGORIES:
            raise UserError(
                f"data.columns: column {name!r} has {len(categories):,} categories, such as "
                f"{format_repr(categories[0])}, but may have at most {MAX_CATEGORIES:,}: it may be a name or a second "
                "text; remove it, or join rare categories"
            )
        return cls(name=name, categories=categories)

    def encode(self, cells: Sequence[Any], where: Where) -> "tuple[csr_matrix, Coverage]":
        """Return the features of n cells, n × the number of `features`, and how many have no value or are unseen."""
        from scipy.sparse import csr_matrix  # slow, and few models have columns

        try:
            entries = runtime.encode(self.model_dump(), cells)
        except runtime.Fault as fault:
            raise UserError(f"{where([fault.row])}: {fault}{CORRECT}") from None
        values, shape = entries.values.astype(np.float32), (len(cells), entries.width)
        return csr_matrix((values, (entries.rows, entries.columns)), shape), Coverage(entries.missing, entries.unseen)


def encode_columns(
    columns: Iterable[Column], cells: Mapping[str, Sequence[str | None]], where: Where
) -> "tuple[csr_matrix, dict[str, Coverage]]":
    """Return the features of all columns, n×K float32, and the coverage of each column by name."""
    from scipy.sparse import hstack

    encoded = {column.name: column.encode(cells[column.name], where) for column in columns}
    matrix = hstack([features for features, _ in encoded.values()], format="csr")
    return matrix, {name: coverage for name, (_, coverage) in encoded.items()}

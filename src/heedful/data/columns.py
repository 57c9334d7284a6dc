"""Further columns of the data, beside the texts: numbers are standardized, and categories are told apart."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, NamedTuple, Self

import numpy as np
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, FiniteFloat

from heedful.base.errors import UserError
from heedful.base.formatting import format_repr

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

MAX_CATEGORIES = 1000
LARGEST = 1e100  # a larger number is not read as one
LIMIT = 1e6  # standard deviations from the mean; a number farther away counts as one at this distance
MISSING = "(missing)"
Where = Callable[[Sequence[int]], str]  # names the places of rows, such as "a.csv: lines 3, 9"


class Coverage(NamedTuple):
    """In how many texts a column has no value, and in how many a category without training texts."""

    missing: int
    unseen: int


def _strip(cells: Sequence[str | None]) -> list[str]:
    """Return the cells without space around them; True and true, as pandas and JSON write it, are the same."""
    texts = [(cell or "").strip() for cell in cells]
    return [text.lower() if text.lower() in ("true", "false") else text for text in texts]


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
    categories: Annotated[list[str], AfterValidator(_strip)] | None = None

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
        texts, numbers = _strip(cells), _numbers(cells)
        values, wrong = numbers[np.isfinite(numbers)], np.flatnonzero(np.isinf(numbers))
        if len(values) > len(wrong) > 0:
            raise UserError(_not_a_number(name, cells, wrong.tolist(), where, "most of its cells are numbers"))
        distinct = set(texts) if len(wrong) else set(np.unique(numbers).tolist())
        if len(distinct) < 2:
            raise UserError(f"data.columns: all training texts have the same value in column {name!r}: remove it")
        if not len(wrong):
            return cls(name=name, mean=float(values.mean()), scale=float(values.std()) or 1.0)
        categories = sorted({text for text in texts if text})
        if len(categories) > MAX_CATEGORIES:
            raise UserError(
                f"data.columns: column {name!r} has {len(categories):,} categories, such as "
                f"{format_repr(categories[0])}, but may have at most {MAX_CATEGORIES:,}: it may be a name or a second "
                "text; remove it, or join rare categories"
            )
        return cls(name=name, categories=categories)

    def encode(self, cells: Sequence[str | None], where: Where) -> "tuple[csr_matrix, Coverage]":
        """Return the features of n cells, n × the number of `features`, and how many have no value or are unseen."""
        from scipy.sparse import csr_matrix  # slow, and few models have columns

        if self.categories is None:
            numbers = _numbers(cells)
            if len(wrong := np.flatnonzero(np.isinf(numbers))):
                raise UserError(
                    _not_a_number(self.name, cells, wrong.tolist(), where, "its training cells are numbers")
                )
            missing = np.isnan(numbers)
            values = np.clip((np.nan_to_num(numbers, nan=self.mean) - self.mean) / self.scale, -LIMIT, LIMIT)
            return csr_matrix(np.stack([values, missing], 1).astype(np.float32)), Coverage(int(missing.sum()), 0)
        places = {text: i for i, text in enumerate([*self.categories, ""])}
        codes = np.array([places.get(text, -1) for text in _strip(cells)], dtype=np.int64)
        (rows,), shape = np.nonzero(codes >= 0), (len(codes), len(self.features))
        features = csr_matrix((np.ones(len(rows), dtype=np.float32), (rows, codes[rows])), shape=shape)
        return features, Coverage(int((codes == places[""]).sum()), int((codes < 0).sum()))


def encode_columns(
    columns: Iterable[Column], cells: Mapping[str, Sequence[str | None]], where: Where
) -> "tuple[csr_matrix, dict[str, Coverage]]":
    """Return the features of all columns, n×K float32, and the coverage of each column by name."""
    from scipy.sparse import hstack

    encoded = {column.name: column.encode(cells[column.name], where) for column in columns}
    matrix = hstack([features for features, _ in encoded.values()], format="csr")
    return matrix, {name: coverage for name, (_, coverage) in encoded.items()}


def _not_a_number(name: str, cells: Sequence[str | None], wrong: Sequence[int], where: Where, others: str) -> str:
    return (
        f"{where(wrong)}: column {name!r} holds {format_repr(cells[wrong[0]])}, but {others}: correct it, or "
        "leave the cell empty. If the numbers stand for categories, write them as text, such as 'c1' for 1"
    )


def _numbers(cells: Sequence[str | None]) -> np.ndarray:
    """Return the number in each cell: NaN if there is no value, and infinity if there is another text."""
    texts = _strip(cells)
    numbers = {text: _number(text) for text in set(texts)}
    return np.array([numbers[text] for text in texts], dtype=np.float64)


def _number(text: str) -> float:
    try:
        number = float(text or "nan") if "_" not in text else math.inf  # Python reads 18_25 as 1825
    except ValueError:
        return math.inf
    return math.inf if abs(number) > LARGEST else number

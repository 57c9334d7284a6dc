"""Data that a program gives: frames, columns and records become data sets of the library `datasets`."""

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from heedful.base.errors import UserError
from heedful.base.formatting import format_list

if TYPE_CHECKING:
    import datasets

EXPECTED = (
    "expects a pandas frame, a datasets.Dataset, (texts, labels), a dict of columns or a list of dicts, or a dict of "
    "several of them with the key train, or the path of a file"
)
MISSING = ("None", "nan", "<NA>", "NaT")  # what Python and pandas print for a missing value


def split_names(data: Any) -> list[str]:
    """Return the names of the splits of `data`: its keys if it has the key train, and otherwise train alone."""
    return list(map(str, data)) if isinstance(data, Mapping) and "train" in data else ["train"]


def usual_splits(names: Collection[str]) -> dict[str, str | None]:
    """Return the options of `Source` for splits of the usual names; None holds out training rows."""
    usual = {"val_split": ("validation", "val", "dev"), "test_split": ("test",)}
    return {option: next((name for name in others if name in names), None) for option, others in usual.items()}


def as_sets(data: Any, text: str | Sequence[str] = "text", label: str = "label") -> "dict[str, datasets.Dataset]":
    """Return the data set of each split of `data`.

    Args:
        text, label: the columns of (texts, labels); the texts of two columns are pairs.
    """
    parts = data if isinstance(data, Mapping) and "train" in data else {"train": data}
    return {str(name): as_set(part, text, label) for name, part in parts.items()}


def is_table(data: Any) -> bool:
    """Return whether `data` is a frame, a data set, a dict of columns or a list of dicts, and not a list of texts."""
    rows = isinstance(data, Sequence) and data and all(isinstance(row, Mapping) for row in data)
    return bool(isinstance(data, Mapping) or rows or hasattr(data, "column_names") or hasattr(data, "columns"))


def as_set(data: Any, text: str | Sequence[str] = "text", label: str = "label") -> "datasets.Dataset":
    """Return the data set of a single table."""
    import datasets

    if isinstance(data, datasets.Dataset):
        return data
    columns: Any = None
    if hasattr(data, "items") and hasattr(data, "columns"):
        names = list(map(str, data.columns))
        if len(set(names)) < len(names):
            raise UserError(f"data: two columns of the frame have the same name, among {format_list(names)}")
        columns = data
    elif isinstance(data, Mapping):
        columns = data
    elif isinstance(data, Sequence) and data and all(isinstance(row, Mapping) for row in data):
        names = list(dict.fromkeys(name for row in data for name in row))
        columns = {name: [row.get(name) for row in data] for name in names}
    elif isinstance(data, tuple | list) and len(data) == 2 and not isinstance(data[0], str):
        parts = [data[0]] if isinstance(text, str) else [list(part) for part in zip(*data[0], strict=True)]
        columns = dict(zip([text] if isinstance(text, str) else text, parts, strict=True)) | {label: data[1]}
    if columns is None:
        raise UserError(f"data: is of type {type(data).__name__}, but {EXPECTED}")
    cells = {str(name): _cells(name, column) for name, column in columns.items()}
    sizes = {name: len(column) for name, column in cells.items()}
    if len(set(sizes.values())) > 1:
        raise UserError(f"data: the columns have different lengths: {format_list(list(sizes.items()), plain=True)}")
    return datasets.Dataset(pa.table(cells))


def _cells(name: object, column: Any) -> pa.Array:
    """Return the cells of a column; those of several types become text."""
    if isinstance(column, str) or not hasattr(column, "__iter__"):
        raise UserError(f"data: the column {name!r} is of type {type(column).__name__}, but must be a list of cells")
    cells = list(column)
    try:
        return pa.array(cells, from_pandas=True)
    except (pa.ArrowException, OverflowError, TypeError, ValueError):
        return pa.array([None if not isinstance(cell, str) and str(cell) in MISSING else str(cell) for cell in cells])

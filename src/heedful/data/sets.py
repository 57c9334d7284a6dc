"""Data that a program gives: frames, columns and records become data sets of the library `datasets`."""

from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from datetime import time
from decimal import Decimal
from enum import Enum
from types import NoneType
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from heedful.base.errors import UserError
from heedful.base.formatting import format_count, format_list
from heedful.data.tables import MIXED
from heedful.runtime import Fault, spell_all

if TYPE_CHECKING:
    import datasets

EXPECTED = (
    "expects a frame of pandas or polars, an Arrow table, a datasets.Dataset, (texts, labels), a dict of columns or a "
    "list of dicts, or a dict of several of them with the key train, or the path of a file; collect lazy or streamed "
    "data first"
)


def _by_split(data: Any) -> Mapping[Any, Any]:
    """Return the table of each split: `data` itself if it has the key train or all its values are tables."""
    has_splits = isinstance(data, Mapping) and data and ("train" in data or all(map(is_table, data.values())))
    return data if has_splits else {"train": data}


def split_names(data: Any) -> list[str]:
    """Return the names of the splits of `data`."""
    return list(map(str, _by_split(data)))


def usual_splits(names: Collection[str]) -> dict[str, str | None]:
    """Return the options of `Source` for splits of the usual names; None holds out training rows."""
    usual = {"val_split": ("validation", "valid", "val", "dev", "eval"), "test_split": ("test",)}
    return {option: next((name for name in others if name in names), None) for option, others in usual.items()}


def as_sets(
    data: Any, text: str | Sequence[str] = "text", label: str | Sequence[str] = "label"
) -> "dict[str, datasets.Dataset]":
    """Return the data set of each split of `data`.

    Args:
        text, label: the columns of (texts, labels); the texts of two columns are pairs, the labels of several a matrix.
    """
    return {str(name): as_set(part, text, label) for name, part in _by_split(data).items()}


def is_table(data: Any) -> bool:
    """Return whether `data` is a frame, a data set, a dict of columns or a list of dicts, and not a list of texts."""
    rows = isinstance(data, Sequence) and data and all(isinstance(row, Mapping) for row in data)
    return bool(isinstance(data, Mapping) or rows or hasattr(data, "column_names") or hasattr(data, "columns"))


def is_matrix(labels: Any) -> bool:
    """Return whether labels are a sparse matrix, an array or a frame with a column for each label."""
    shape: Any = getattr(labels, "shape", ())
    return len(shape) == 2 and shape[1] > 1


def label_names(data: Any, label: str | Sequence[str], classes: Any) -> str | list[str]:
    """Return the columns of the labels of `data`: those of the matrix in (texts, matrix), or else `label`.

    Args:
        classes: the option `labels`, which names the columns of a matrix without names.
    """
    part = next(iter(_by_split(data).values()))
    matrix = part[1] if isinstance(part, tuple | list) and len(part) == 2 else None
    if not isinstance(label, str) or not is_matrix(matrix):
        return label if isinstance(label, str) else list(label)
    assert matrix is not None
    size, names = matrix.shape[1], list(map(str, getattr(matrix, "columns", classes or ())))
    if len(set(names)) < len(names) or len(names) != size:
        raise UserError(
            f"data: the labels are a matrix of {size} columns without names: for several labels of a text, list "
            "their names in data.labels=[…]; for one, give its number, such as labels.argmax(1)"
        )
    return names


def as_set(data: Any, text: str | Sequence[str] = "text", label: str | Sequence[str] = "label") -> "datasets.Dataset":
    """Return the data set of a single table."""
    import datasets

    if isinstance(data, datasets.Dataset):
        if data.format["type"] == "custom":
            raise UserError("data: the data set has a transform, which is not applied: use its map() instead")
        return data
    columns: Any = None
    if hasattr(data, "__arrow_c_stream__") and not hasattr(data, "items"):  # polars, Arrow and others
        data = data if isinstance(data, pa.Table) else pa.table(data)
        data = dict(zip(data.column_names, data.columns, strict=True))
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
        columns = _columns_of(data[0], [text] if isinstance(text, str) else list(text))
        columns |= {label: data[1]} if isinstance(label, str) else _columns_of_labels(data[1], label)
    if columns is None:
        raise UserError(f"data: is of type {type(data).__name__}, but {EXPECTED}")
    cells = {str(name): _cells(name, column) for name, column in columns.items()}
    sizes = {name: len(column) for name, column in cells.items()}
    if len(set(sizes.values())) > 1:
        raise UserError(f"data: the columns have different lengths: {format_list(list(sizes.items()), plain=True)}")
    return datasets.Dataset(pa.table(cells))


def list_rows(texts: Any) -> list[Any]:
    """Return the texts or pairs that a program gives; a frame or an array has a column for each part of a text."""
    rows = np.asarray(texts) if hasattr(texts, "to_numpy") else texts
    return list(rows[:, 0] if getattr(rows, "ndim", 1) == 2 and rows.shape[1] == 1 else rows)


def text_columns(columns: Sequence[str], names: Sequence[str]) -> list[str]:
    """Return the columns with the texts: those of these names or, if none has one and they are as many, all."""
    return list(columns if len(columns) == len(names) and set(names).isdisjoint(columns) else names)


def _columns_of(texts: Any, names: Sequence[str]) -> dict[str, list[Any]]:
    """Return the columns of texts, or of pairs if there are two names; a larger table has columns of these names."""
    if is_table(texts) and len((table := as_set(texts)).column_names) >= len(names):
        columns = table.column_names
        keys = names if text_columns(columns, names) == columns else columns
        return dict(zip(keys, map(table.__getitem__, columns), strict=True))
    if isinstance(texts, str) or not hasattr(texts, "__iter__"):
        return {names[0]: texts}
    rows = [row if isinstance(row, tuple | list | np.ndarray) else (row,) for row in list_rows(texts)]
    if wrong := [i for i, row in enumerate(rows) if len(row) != len(names)]:
        raise UserError(
            f"data: text {wrong[0] + 1} has {format_count(len(rows[wrong[0]]), 'part')}, but data.text has "
            f"{format_count(len(names), 'name')}; for pairs of texts, write data.text=[first,second]"
        )
    return {name: [row[i] for row in rows] for i, name in enumerate(names)}


def _columns_of_labels(matrix: Any, names: Sequence[str]) -> dict[str, Any]:
    """Return the columns of a matrix, which say of each label whether a text has it."""
    if not is_matrix(matrix) or matrix.shape[1] != len(names):
        raise UserError(f"data: data.label names {len(names)} columns, so the labels must be a matrix of as many")
    if hasattr(matrix, "columns"):
        return {name: matrix[column] for name, column in zip(names, matrix.columns, strict=True)}
    dense = matrix.toarray() if hasattr(matrix, "tocsr") else np.asarray(matrix)
    return dict(zip(names, dense.T, strict=True))


def _cells(name: object, column: Any) -> pa.Array:
    """Return the cells of a column; those of several types, and those of which Arrow would keep less, are spelled."""
    if isinstance(column, str) or not hasattr(column, "__iter__") or hasattr(column, "tocsr"):
        raise UserError(f"data: the column {name!r} is of type {type(column).__name__}, but must be a list of cells")
    column = column.detach().cpu() if hasattr(column, "detach") else column
    column = column.numpy() if hasattr(column, "numpy") else column  # a tensor
    column = column.to_arrow() if hasattr(column, "to_arrow") else column  # of polars
    if isinstance(column, pa.Array | pa.ChunkedArray):
        if pa.types.is_primitive(column.type) and _is_stored(column.type):
            return column
        column = column.to_pylist()
    cells = list(map(_plain, column))
    typed = column if getattr(getattr(column, "dtype", None), "kind", "O") in "biufM" else cells  # with its precision
    with suppress(pa.ArrowException, OverflowError, TypeError, ValueError):
        if not any(map(_is_cut, cells)) and _is_stored((array := pa.array(typed, from_pandas=True)).type):
            return array
    try:
        if all(isinstance(cell, list | tuple | NoneType) for cell in cells):  # of labels of several types
            return pa.array([None if cell is None else _spell_labels(cell, row) for row, cell in enumerate(cells)])
        spelled = spell_all(cells)
        if any(isinstance(cell, str) for cell in cells):
            pairs = list(zip(cells, spelled, strict=True))
            typed = [None if isinstance(cell, str) or "." not in (text or "") else text for cell, text in pairs]
            texts = [None if number else text for number, text in zip(typed, spelled, strict=True)]
            # no text form of numbers concerns a typed fraction
            return pa.StructArray.from_arrays([typed, texts], MIXED) if any(typed) else pa.array(texts)
        return pa.array([cell and cell.encode() for cell in spelled], pa.binary())  # no text, so no `data.decimal`
    except Fault as fault:
        raise UserError(f"data: row {fault.row + 1}: the column {name!r} {fault}") from None


def _spell_labels(labels: Sequence[Any], row: int) -> list[str | None]:
    try:
        return spell_all(labels)
    except Fault as fault:
        raise Fault(str(fault), row) from None


def _is_stored(kind: pa.DataType) -> bool:
    """Return whether the library `datasets` has this type of Arrow, or one like it."""
    return not (isinstance(kind, pa.BaseExtensionType) or pa.types.is_interval(kind))


def _is_cut(cell: Any) -> bool:
    """Return whether Arrow changes a cell of a list: decimals get one scale, and nanoseconds and zones of times go."""
    is_zoned = isinstance(cell, time) and cell.tzinfo is not None
    return isinstance(cell, Decimal) or is_zoned or bool(getattr(cell, "nanosecond", 0))


def _plain(cell: Any) -> Any:
    """Return the value of an Enum, a sorted set, the number of an array without axes; any other cell as it is.

    A float32 gets the digits of its own precision, because Arrow widens it beside other numbers.
    """
    if isinstance(cell, Enum):
        return cell.value
    if isinstance(cell, set | frozenset):
        return sorted(cell, key=str)
    if isinstance(cell, np.ndarray) and cell.ndim == 1:
        return cell.tolist()
    if isinstance(cell, np.floating) and not isinstance(cell, float):
        return float(str(cell))
    return cell.item() if getattr(cell, "ndim", None) == 0 and not isinstance(cell, np.generic) else cell

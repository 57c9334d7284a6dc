"""Predictions as a file: all columns of the input, the predicted class and the probability of each class."""

import csv
import json
import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from src.config.paths import unwritable_reason
from src.data.paths import absolute_path
from src.errors import UserError
from src.files.atomic import replace_atomically

Columns = dict[str, list[Any]]


def output_path(out: str, file: str | None) -> Path:
    """The absolute path of the file to write.

    Raises:
        UserError: if its format is unknown, if it cannot be written, or if it is the file of the texts.
    """
    path = absolute_path(out, "out")
    if path.suffix.lower() not in WRITERS:
        raise UserError(f"out={out}: unknown extension; it must be one of {', '.join(WRITERS)}")
    if path.is_dir():
        raise UserError(f"out={out}: is a folder; write the path of a file")
    if reason := unwritable_reason(path.parent):
        raise UserError(f"out={out}: cannot be written ({reason}); choose another folder")
    if file is not None and path.exists() and Path(file).exists() and path.samefile(file):
        raise UserError(f"out={out}: is the file of the texts, which would be lost; choose another name")
    return path


def with_predictions(
    columns: Columns,
    rows: Sequence[int],
    class_names: Sequence[str],
    probabilities: np.ndarray,
    is_unknown: np.ndarray,
) -> Columns:
    """Append columns of predictions; rows without a prediction have None there.

    Args:
        columns: n values each.
        rows: the m rows with a prediction.
        class_names: C names.
        probabilities: m×C.
        is_unknown: m bool, whether the model knows no token of the text.

    Returns:
        The columns with `predicted`, `probability_<class>` for each class, and `only_unknown`. A name that is already
        a column gets a number.
    """
    result = dict(columns)
    size = len(next(iter(columns.values())))

    def append(name: str, values: Sequence[Any]) -> None:
        number = 2
        unique = name
        while unique in result:
            unique, number = f"{name}_{number}", number + 1
        result[unique] = [None] * size
        for row, value in zip(rows, values, strict=True):
            result[unique][row] = value

    append("predicted", [class_names[i] for i in probabilities.argmax(1)])
    for name, values in zip(class_names, probabilities.T, strict=True):
        append(f"probability_{name}", values.round(6).tolist())
    append("only_unknown", is_unknown.tolist())
    return result


def write_columns(path: Path, columns: Columns) -> None:
    """Write a table atomically in the format of its extension."""
    with replace_atomically(path) as part:
        WRITERS[path.suffix.lower()](part, columns)


def _write_csv(path: Path, columns: Mapping[str, list[Any]]) -> None:
    with path.open("w", encoding="utf-8", errors="backslashreplace", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(columns)
        writer.writerows(map(_cell, record) for record in zip(*columns.values(), strict=True))


def _cell(value: Any) -> Any:
    if isinstance(value, dict | list | bool):
        return json.dumps(value, ensure_ascii=False, default=str)
    return value.decode(errors="backslashreplace") if isinstance(value, bytes) else value


def _write_jsonl(path: Path, columns: Mapping[str, list[Any]]) -> None:
    with path.open("w", encoding="utf-8", errors="backslashreplace") as file:
        for record in zip(*columns.values(), strict=True):
            plain = {name: _plain(value) for name, value in zip(columns, record, strict=True)}
            file.write(json.dumps(plain, ensure_ascii=False, default=str) + "\n")


def _plain(value: Any) -> Any:
    """The value with null in the place of NaN and infinity, which JSON lacks."""
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    return value.decode(errors="backslashreplace") if isinstance(value, bytes) else value


def _write_parquet(path: Path, columns: Mapping[str, list[Any]]) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    def array(values: list[Any]) -> Any:
        try:
            return pa.array(values)
        except (pa.ArrowException, OverflowError, ValueError, TypeError):  # values of several types, or huge numbers
            texts = [None if value is None else str(_cell(value)) for value in values]
            return pa.array([text and text.encode(errors="backslashreplace").decode() for text in texts])

    pq.write_table(pa.table({name: array(values) for name, values in columns.items()}), path)


WRITERS: dict[str, Callable[[Path, Mapping[str, list[Any]]], None]] = {
    ".csv": _write_csv,
    ".jsonl": _write_jsonl,
    ".parquet": _write_parquet,
}

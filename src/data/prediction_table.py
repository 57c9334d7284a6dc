"""The file of predictions: the columns of the input, and columns that describe the prediction for each row."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from src.config.paths import unwritable_reason
from src.data.files import absolute_path
from src.data.tables import WRITERS
from src.errors import UserError


def output_path(out: str, file: str | None) -> Path:
    """Return the absolute path of `out`, the file for the predictions.

    Args:
        file: path of the input file; None if the texts come from elsewhere.

    Raises:
        UserError: if `out` has an unknown format, cannot be written, or is the input file.
    """
    path = absolute_path(out, "out")
    if path.suffix.lower() not in WRITERS:
        raise UserError(f"out={out}: unknown extension; it must be one of {', '.join(WRITERS)}")
    if path.is_dir():
        raise UserError(f"out={out}: this is a folder; pass the path of a file")
    if reason := unwritable_reason(path.parent):
        raise UserError(f"out={out}: cannot be written ({reason}); choose another folder")
    if file is not None and path.exists() and Path(file).exists() and path.samefile(file):
        raise UserError(f"out={out}: this is the input file, which would be overwritten; choose another name")
    return path


class PredictionColumns:
    """The columns `predicted`, `probability_<class>` for each class, and `only_unknown`.

    Args:
        others: names of the input columns; a new column gets a number if its name is already used.
    """

    def __init__(self, class_names: Sequence[str], others: Sequence[str]) -> None:
        self._class_names = class_names
        self._names: list[str] = []
        for name in ("predicted", *(f"probability_{name}" for name in class_names), "only_unknown"):
            number = 2
            unique = name
            while unique in others or unique in self._names:
                unique, number = f"{name}_{number}", number + 1
            self._names.append(unique)

    def values(
        self, size: int, rows: Sequence[int], probabilities: np.ndarray, is_unknown: np.ndarray
    ) -> dict[str, list[Any]]:
        """Return the columns for n rows, with None in rows without a prediction.

        Args:
            size: n.
            rows: indices of the m rows with a prediction.
            probabilities: class probabilities m×C.
            is_unknown: m bool, true if the model knows no token of the row's text.
        """
        predicted = [self._class_names[i] for i in probabilities.argmax(1)]
        columns = [predicted, *probabilities.T.round(6).tolist(), is_unknown.tolist()]
        result: dict[str, list[Any]] = {name: [None] * size for name in self._names}
        for name, values in zip(self._names, columns, strict=True):
            for row, value in zip(rows, values, strict=True):
                result[name][row] = value
        return result

"""Read `errors.csv`: the most confident mistakes and the most uncertain predictions on the test split."""

import json
from pathlib import Path
from typing import NamedTuple

import numpy as np

from src.files import validate
from src.records.files import read_existing, read_rows
from src.reports.page.attention import Word, coloured_words

KINDS = {"mistake": "Most confident mistakes", "uncertain": "Most uncertain predictions"}


class ErrorRow(NamedTuple):
    """A text with its class, its prediction and its coloured words."""

    number: str
    label: str
    predicted: str
    probability: str
    strip: list[Word]


def read_errors(run: Path) -> dict[str, list[ErrorRow]]:
    """Return the rows of `errors.csv` by the heading of their kind; {} if the file is absent.

    Raises:
        UserError: if the file is damaged.
    """

    def read(path: Path) -> dict[str, list[ErrorRow]]:
        by_kind: dict[str, list[ErrorRow]] = {}
        for row in read_rows(path):
            by_kind.setdefault(KINDS[row["kind"]], []).append(_row(row))
        return by_kind

    return read_existing(run / "errors.csv", read) or {}


def _row(row: dict[str, str]) -> ErrorRow:
    words = validate(json.loads(row["words"]), list[list[str | float]])
    weights = np.array([float(weight) for _, weight in words])
    strip = coloured_words([str(word) for word, _ in words], weights)
    return ErrorRow(row["index"], row["label"], row["predicted"], f"{float(row['probability']):.3f}", strip)

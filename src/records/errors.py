"""Read `errors.csv`: the most confident mistakes and the most uncertain predictions on the test split."""

from pathlib import Path
from typing import NamedTuple

import numpy as np
from pydantic import TypeAdapter

from src.records.files import read_existing, read_rows

KINDS = {"mistake": "Most confident mistakes", "uncertain": "Most uncertain predictions"}
WORDS = TypeAdapter(list[tuple[str, float]])


class ErrorRow(NamedTuple):
    """A text with its class, its prediction, and the attention weight of each word."""

    number: str
    label: str
    predicted: str
    probability: float
    words: list[str]
    weights: np.ndarray  # L


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
    words = WORDS.validate_json(row["words"])
    weights = np.array([weight for _, weight in words])
    probability = float(row["probability"])
    return ErrorRow(row["index"], row["label"], row["predicted"], probability, [word for word, _ in words], weights)

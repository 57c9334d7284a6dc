"""Read `errors.csv`: the most confident mistakes and the most uncertain predictions on the test split."""

import re
from pathlib import Path
from typing import NamedTuple

import numpy as np
from pydantic import TypeAdapter

from src.records.files import read_existing, read_rows

KINDS = {"mistake": "Most confident mistakes", "uncertain": "Most uncertain predictions"}
WORDS = TypeAdapter(list[tuple[str, float]])
FORMULA = re.compile(r"[=+\-@\t\r](?![\d.]*$)")  # the start of a text that spreadsheets run as a formula


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
    label, predicted = (_armed(row[name]) for name in ("label", "predicted"))
    return ErrorRow(row["index"], label, predicted, probability, [word for word, _ in words], weights)


def disarm(text: str) -> str:
    """Put an apostrophe before a text that a spreadsheet would run as a formula."""
    return f"'{text}" if FORMULA.match(text) else text


def _armed(cell: str) -> str:
    return cell[1:] if cell.startswith("'") and FORMULA.match(cell[1:]) else cell

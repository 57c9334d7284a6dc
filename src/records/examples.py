"""A text with its prediction and the attention weight of each word, and the files of such texts in a run's folder."""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import TypeAdapter
from typing_extensions import NotRequired, TypedDict

from src.files import read_json, write_text
from src.records.files import read_existing, read_rows

KINDS = {"mistake": "Most confident mistakes", "uncertain": "Most uncertain predictions"}
WORDS = TypeAdapter(list[tuple[str, float]])
FORMULA = re.compile(r"'*[=+\-@\t\r](?![\d.]*$)")  # the start of a text that spreadsheets run as a formula


@dataclass(frozen=True)
class Example:
    """One text with its prediction and the attention weight of each word."""

    split: str
    index: int
    label: str | None  # None if the true class is unknown
    predicted: str
    probabilities: dict[str, float]
    words: list[str]
    weights: np.ndarray  # L
    matrix: np.ndarray | None  # H×L×L; None if there is no word × word map
    cut: str = ""  # the part that was read, such as "first 500 of 20,000 tokens"; "" if the text is not cut
    layers: dict[str, np.ndarray] = field(default_factory=dict)  # encoder layer → its weights H×L×L
    is_unknown: bool = False  # whether the model knows none of the words, so that the prediction ignores them

    @property
    def maps(self) -> dict[str, np.ndarray]:
        """The word × word weights H×L×L of the attention component and of the encoder's layers, by name."""
        return ({} if self.matrix is None else {"attention": self.matrix}) | self.layers

    @property
    def title(self) -> str:
        """Split, row number, true class, predicted class, its probability and, if truncated, the part that was read."""
        prediction = f"predicted {self.predicted} ({self.probabilities.get(self.predicted, 0):.2f})"
        classes = prediction if self.label is None else f"{self.label}, {prediction}"
        cut = f", {self.cut}" if self.cut else ""
        return f"{self.split} {self.index}: {classes}{cut}"


class Entry(TypedDict):
    """One text in `attention.json`."""

    split: str
    index: int
    label: str | None
    predicted: str
    probabilities: list[float]
    words: list[str]
    weights: list[float]
    matrix: list[Any] | None
    cut: NotRequired[str]
    layers: NotRequired[dict[str, list[Any]]]


def write_examples(path: Path, examples: Sequence[Example]) -> None:
    """Write texts as JSON; weights are rounded to six decimal places, and matrices to four."""
    entries = [
        {
            "split": each.split,
            "index": each.index,
            "label": each.label,
            "predicted": each.predicted,
            "probabilities": list(each.probabilities.values()),
            "words": each.words,
            "cut": each.cut,
            "weights": [round(weight, 6) for weight in each.weights.tolist()],
            "matrix": None if each.matrix is None else _rounded(each.matrix),
            "layers": {name: _rounded(matrix) for name, matrix in each.layers.items()},
        }
        for each in examples
    ]
    write_text(path, json.dumps(entries, separators=(",", ":")))


def _rounded(matrix: np.ndarray) -> Any:
    return matrix.astype(np.float64).round(4).tolist()


def read_examples(run: Path, class_names: Sequence[str]) -> list[Example]:
    """Return the texts in `attention.json`, whose probabilities are in the order of the classes; [] without the file.

    A matrix is omitted if its rows are not words.
    """

    def read(path: Path) -> list[Example]:
        return [_example(entry, class_names) for entry in read_json(path, list[Entry])]

    return read_existing(run / "attention.json", read) or []


def _example(entry: Entry, class_names: Sequence[str]) -> Example:
    length, matrix = len(entry["words"]), [] if entry["matrix"] is None else [("", entry["matrix"])]
    maps = {name: np.array(weights, np.float64) for name, weights in (*matrix, *entry.get("layers", {}).items())}
    if len(entry["weights"]) != length or any(weights.ndim != 3 for weights in maps.values()):
        raise ValueError(f"{len(entry['weights'])} weights for {length} words, or a matrix without three axes")
    of_words = {name: weights for name, weights in maps.items() if weights.shape[1:] == (length, length)}
    return Example(
        split=entry["split"],
        index=entry["index"],
        label=entry["label"],
        predicted=entry["predicted"],
        words=entry["words"],
        probabilities=dict(zip(class_names, entry["probabilities"], strict=True)),
        weights=np.array(entry["weights"], np.float64),
        matrix=of_words.pop("", None),
        cut=entry.get("cut", ""),
        layers=of_words,
    )


def read_errors(run: Path) -> dict[str, list[Example]]:
    """Return the texts in `errors.csv` by the heading of their kind; {} without the file."""

    def read(path: Path) -> dict[str, list[Example]]:
        by_kind: dict[str, list[Example]] = {}
        for row in read_rows(path):
            words = WORDS.validate_json(row["words"])
            label, predicted = (_rearm(row[name]) for name in ("label", "predicted"))
            example = Example(
                split="test",
                index=int(row["index"]),
                label=label,
                predicted=predicted,
                probabilities={predicted: float(row["probability"])},
                words=[word for word, _ in words],
                weights=np.array([weight for _, weight in words]),
                matrix=None,
            )
            by_kind.setdefault(KINDS[row["kind"]], []).append(example)
        return by_kind

    return read_existing(run / "errors.csv", read) or {}


def disarm(text: str) -> str:
    """Put an apostrophe before a text that a spreadsheet would run as a formula; `read_errors` removes it."""
    return f"'{text}" if FORMULA.match(text) else text


def _rearm(text: str) -> str:
    return text[1:] if text.startswith("'") and FORMULA.match(text[1:]) else text

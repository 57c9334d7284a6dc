"""A text with its prediction and the attention weight of each word, and `attention.json`, a file of such texts."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePath
from typing import Any

import numpy as np
from typing_extensions import NotRequired, TypedDict

from src.files import read_json, write_text
from src.records.files import read_existing


class Entry(TypedDict):
    """One text in the file."""

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
    def name(self) -> str:
        """Split and row number, as part of file names."""
        return f"{PurePath(self.split).name}_{self.index}"

    @property
    def title(self) -> str:
        """Split, row number, true class, predicted class, its probability and, if truncated, the part that was read."""
        prediction = f"predicted {self.predicted} ({self.probabilities.get(self.predicted, 0):.2f})"
        classes = prediction if self.label is None else f"{self.label}, {prediction}"
        cut = f", {self.cut}" if self.cut else ""
        return f"{self.split} {self.index}: {classes}{cut}"


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
    """Return the texts in `attention.json` with their attention weights; [] if the file is absent.

    Args:
        class_names: the classes in the order of the probabilities.

    Raises:
        UserError: if the file is damaged.
    """

    def read(path: Path) -> list[Example]:
        return [_example(entry, class_names) for entry in read_json(path, list[Entry])]

    return read_existing(run / "attention.json", read) or []


def _example(entry: Entry, class_names: Sequence[str]) -> Example:
    weights, length = np.array(entry["weights"], dtype=np.float64), len(entry["words"])
    if len(weights) != length:
        raise ValueError(f"{len(weights)} weights for {length} words")
    layers = {}
    for name, matrix in entry.get("layers", {}).items():
        if (layer := _to_map(matrix, length)) is None:
            raise ValueError(f"the matrix of a layer does not have {length} rows and columns")
        layers[name] = layer
    return Example(
        split=entry["split"],
        index=entry["index"],
        label=entry["label"],
        predicted=entry["predicted"],
        words=entry["words"],
        probabilities=dict(zip(class_names, entry["probabilities"], strict=True)),
        weights=weights,
        matrix=None if entry["matrix"] is None else _to_map(entry["matrix"], length),
        cut=entry.get("cut", ""),
        layers=layers,
    )


def _to_map(matrix: list[Any], length: int) -> np.ndarray | None:
    """Return weights H×T×L as an array if each word has a row (T = L); return None if the rows are not words."""
    weights = np.asarray(matrix, dtype=np.float64)
    if weights.ndim != 3 or not np.isfinite(weights).all():
        raise ValueError(f"a matrix of shape {weights.shape} must be finite and have three axes, H×T×L")
    return weights if weights.shape[1:] == (length, length) and len(weights) else None

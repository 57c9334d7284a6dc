"""Reading what a run left behind. An absent file gives None; one that cannot be read, a UserError."""

import csv
import logging
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePath
from typing import Any, NamedTuple, TypeVar

import numpy as np

from src.errors import UserError
from src.files.arrays import read_arrays
from src.files.record import NUMBER, TEXT, read_json, read_record

Value = TypeVar("Value")
log = logging.getLogger(__name__)


class Predictions(NamedTuple):
    """What the model said of a split."""

    split: str
    probabilities: np.ndarray  # n×C float
    labels: np.ndarray  # n int64
    class_names: list[str]
    index: np.ndarray  # type: ignore[assignment]  # n int64, row number in the split


@dataclass(frozen=True)
class Example:
    """One text with the weight of each of its words."""

    split: str
    index: int
    label: str | None  # None where the truth is not known
    predicted: str
    probabilities: dict[str, float]
    words: list[str]
    weights: np.ndarray  # L
    matrix: np.ndarray | None  # H×L×L, where every word attends to every word
    layers: dict[str, np.ndarray] = field(default_factory=dict)  # the same of the encoder's layers, by name

    @property
    def maps(self) -> dict[str, np.ndarray]:
        """Word × word weights of each layer that has such a map: H×L×L by the layer's name."""
        return ({} if self.matrix is None else {"attention": self.matrix}) | self.layers

    @property
    def name(self) -> str:
        """For file names: split and row number."""
        return f"{PurePath(self.split).name}_{self.index}"

    @property
    def title(self) -> str:
        """Where the text stands, what it is and what it was taken for."""
        sure = f"{self.predicted} ({self.probabilities.get(self.predicted, 0):.2f})"
        verdict = f"predicted {sure}" if self.label is None else f"{self.label}, predicted {sure}"
        return f"{self.split} {self.index}: {verdict}"


class Statistics(NamedTuple):
    """Where the weight of many texts falls, and how widely it spreads."""

    position: np.ndarray  # mean share of the weight by relative position, first word to last
    entropy: np.ndarray  # n, nats
    effective: np.ndarray  # n, exp(entropy): as many words as an even spread of that entropy would cover
    length: np.ndarray  # n, words


EXAMPLES = [
    {
        "split": str,
        "index": int,
        "label": TEXT,
        "predicted": str,
        "probabilities": [float],
        "words": [str],
        "weights": [float],
        "matrix": (None, list),
        "layers?": {str: list},
    }
]
LEXICON = {
    **dict.fromkeys(("weight", "chance", "ratio", "low", "high"), float),
    "texts": int,
    "words": [{"word": str, "lift": float, "count": int, "strength": NUMBER}],
}
MOST_EPOCHS = 1_000_000
HISTORY = ("train/loss", "val/loss", "train/acc", "val/acc")
History = dict[str, dict[int, float]]  # metric → epoch → value


def read_predictions(run: Path) -> Predictions | None:
    """The test split's predictions, or validation's where the run did not test."""

    def read(path: Path) -> Predictions:
        arrays = read_arrays(path)
        probabilities, labels, index = arrays["probabilities"], arrays["labels"], arrays["index"]
        names = [str(name) for name in arrays["class_names"].ravel()]
        if not (probabilities.ndim == 2 and probabilities.shape[0] > 0 and probabilities.shape[1] == len(names) > 0):
            raise ValueError(f"probabilities of shape {probabilities.shape} for {len(names)} classes")
        if any(array.shape != probabilities.shape[:1] or array.dtype.kind != "i" for array in (labels, index)):
            raise ValueError(f"labels and index must hold {len(probabilities)} whole numbers")
        if not (np.isfinite(probabilities).all() and labels.min() >= 0 and labels.max() < len(names)):
            raise ValueError("probabilities that are no numbers, or labels of no class")
        return Predictions(path.stem, probabilities, labels, names, index)

    return _read(run / "predictions" / "test.npz", read) or _read(run / "predictions" / "val.npz", read)


def read_history(run: Path) -> History | None:
    """Loss and accuracy by epoch: means of what training logged, the last of what validation logged.

    Once training is over the best checkpoint is validated again; that is no epoch and is left out.
    """

    def read(path: Path) -> History:
        logged: dict[str, dict[int, list[float]]] = {name: {} for name in HISTORY}
        for row in _rows(path):
            for name in HISTORY:
                if row.get(name):
                    epoch, value = float(row["epoch"]), float(row[name])
                    if not 0 <= epoch <= MOST_EPOCHS:
                        raise ValueError(f"epoch {epoch}")
                    if math.isfinite(value):  # a loss that became NaN has no place in a curve
                        logged[name].setdefault(int(epoch), []).append(value)
        history: History = {}
        for name, by_epoch in logged.items():
            for epoch in logged["train/loss"].keys() & by_epoch.keys():
                values = by_epoch[epoch]
                value = float(np.mean(values)) if name.startswith("train/") else values[-1]
                history.setdefault(name, {})[epoch] = value
        return history

    return _read(run / "csv" / "metrics.csv", read) or None


def read_gradients(run: Path) -> dict[str, np.ndarray] | None:
    """Norm of each part's gradient: part → steps × (step, norm), in the order of the steps."""

    def read(path: Path) -> dict[str, np.ndarray]:
        parts: dict[str, list[tuple[float, float]]] = {}
        for row in _rows(path):
            parts.setdefault(row["part"], []).append((float(row["step"]), float(row["norm"])))
        return {part: np.array(sorted(points)) for part, points in parts.items()}

    return _read(run / "gradients.csv", read) or None


def read_statistics(run: Path) -> Statistics | None:
    def read(path: Path) -> Statistics:
        arrays = read_arrays(path)
        names = ("position_mean", "entropy", "effective", "length")
        statistics = Statistics(*(np.asarray(arrays[name], dtype=np.float64) for name in names))
        if statistics.position.ndim != 1 or len({array.shape for array in statistics[1:]}) > 1:
            raise ValueError("arrays whose shapes do not match")
        if statistics.length.ndim != 1 or not all(np.isfinite(array).all() for array in statistics):
            raise ValueError("arrays that are not of numbers, one for each text")
        return statistics

    return _read(run / "attention_stats.npz", read)


def read_examples(run: Path, class_names: Sequence[str]) -> list[Example]:
    """Texts with their weights; `class_names` name the probabilities."""

    def read(path: Path) -> list[Example]:
        return [
            Example(
                split=held["split"],
                index=held["index"],
                label=held["label"],
                predicted=held["predicted"],
                probabilities=dict(zip(class_names, held["probabilities"], strict=True)),
                words=held["words"],
                weights=_weights(held["weights"], len(held["words"])),
                matrix=_token_map(held["matrix"], len(held["words"])),
                layers={name: _layer(matrix, len(held["words"])) for name, matrix in held.get("layers", {}).items()},
            )
            for held in read_json(path, EXAMPLES)
        ]

    return _read(run / "attention.json", read) or []


def read_lexicon_weights(run: Path) -> dict[str, Any] | None:
    return _read(run / "lexicon.json", lambda path: read_json(path, LEXICON))


def read_result(run: Path) -> dict[str, Any]:
    return read_record(run) or {}


def read_or_warn(read: Callable[[Path], Value], run: Path) -> Value | None:
    """What a reader of this module reads of a run; None with a warning where the file is damaged."""
    try:
        return read(run)
    except UserError as error:
        log.warning("%s It is left out", error)
        return None


def _token_map(matrix: Any, length: int) -> np.ndarray | None:
    """H×T×L weights as an array if each of the L words has its own row (T = L), else None."""
    if matrix is None:
        return None
    weights = np.asarray(matrix, dtype=np.float64)
    if weights.ndim != 3 or not np.isfinite(weights).all():
        raise ValueError(f"a matrix of shape {weights.shape}, or one that is not of numbers")
    return weights if weights.shape[1:] == (length, length) and len(weights) else None


def _layer(matrix: Any, length: int) -> np.ndarray:
    """H×L×L weights of one of the encoder's layers."""
    weights = _token_map(matrix, length)
    if weights is None:
        raise ValueError(f"a layer's matrix is not of {length} words")
    return weights


def _weights(values: list[float], length: int) -> np.ndarray:
    if len(values) != length:
        raise ValueError(f"{len(values)} weights of {length} words")
    return np.array(values, dtype=np.float64)


def _rows(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def _read(path: Path, read: Callable[[Path], Value]) -> Value | None:
    if not path.exists():
        return None
    try:
        return read(path)
    except (ValueError, TypeError, LookupError, OSError, csv.Error) as error:
        raise UserError(f"{path} cannot be read ({error!r}): delete it or run again.") from error

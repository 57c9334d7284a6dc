"""The files that a run writes beside its record: predictions, logs and statistics; torch is not imported.

The functions return None if the file is absent, and raise UserError if it is damaged.
"""

import csv
import json
import logging
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, TypeVar

import numpy as np
import yaml

from heedful.base.errors import UserError
from heedful.base.files import allow_long_fields, number_names, read_arrays, write_arrays
from heedful.tasks.stored import read_task, score_names, write_task
from heedful.tasks.task import Task

Value = TypeVar("Value")
log = logging.getLogger(__name__)

HISTORY_FILE, GRADIENTS_FILE, STATISTICS_FILE = "csv/metrics.csv", "gradients.csv", "attention_stats.npz"
# what writes a damaged file of a run again
RESUME = "resume its run (ckpt_path=<run>/checkpoints/last.ckpt) or its sweep (sweep.resume=<sweep>), or delete it"
EVALUATED = ("probabilities", "labels")
History = dict[str, dict[int, float]]  # metric → epoch → value


class Predictions(NamedTuple):
    """The predictions of a model for a split."""

    split: str
    probabilities: np.ndarray  # n×C float
    labels: np.ndarray  # n targets of the task
    task: Task
    index: np.ndarray  # type: ignore[assignment]  # n int64, row number in the split
    groups: np.ndarray | None = None  # n int64, equal for texts that may depend on each other; None without groups
    has_probabilities: bool = True  # False if only the predicted labels of another program are known

    @classmethod
    def of(
        cls, split: str, task: Task, evaluated: Mapping[str, np.ndarray], groups: np.ndarray | None
    ) -> "Predictions":
        """Return the predictions of an evaluation: its probabilities, labels and index; `groups` are of the split."""
        index, (probabilities, labels) = evaluated["index"], (task.shown(evaluated[name]) for name in EVALUATED)
        return cls(split, probabilities, labels, task.of_shown, index, None if groups is None else groups[index])

    @classmethod
    def load(cls, path: Path) -> "Predictions":
        """Read the predictions for the split after which the file is named; a ValueError says how it is damaged."""
        arrays = read_arrays(path)
        state = json.loads(str(arrays.get("task", "{}")))
        task = read_task({**state, "classes": tuple(map(str, arrays["class_names"]))})
        return cls(path.stem, arrays["probabilities"], arrays["labels"], task, arrays["index"], arrays.get("groups"))

    def save(self, folder: Path) -> None:
        """Write the file that `load` reads into the folder, named after the split."""
        state = write_task(self.task)
        columns = {"probabilities": self.probabilities, "labels": self.labels, "class_names": state.pop("classes")}
        columns |= {"index": self.index, "groups": self.groups, "task": json.dumps(state) if state else None}
        given = {name: np.asarray(value) for name, value in columns.items() if value is not None}
        write_arrays(folder / f"{self.split}.npz", **given)

    @property
    def class_names(self) -> tuple[str, ...]:
        return self.task.classes

    @property
    def predicted(self) -> np.ndarray:
        return np.asarray(self.task.predicted(self.probabilities))

    def terms(self, score: str) -> np.ndarray | None:
        """Return the n terms of a score; None if it is not defined on these texts or needs unknown probabilities."""
        if self.task.scores[score].needs_probabilities and not self.has_probabilities:
            return None
        return self.task.scores[score].terms(self.probabilities, self.labels)

    @property
    def is_correct(self) -> np.ndarray:
        """Whether each prediction is right, n bool."""
        return np.asarray(self.task.is_correct(self.probabilities, self.labels))

    @property
    def confusion_matrix(self) -> np.ndarray | None:
        """The number of texts by true class (row) and predicted class (column), C×C; None with other tasks."""
        return self.task.confusion_matrix(self.predicted, self.labels)

    def class_counts(self) -> np.ndarray:
        """Return the numbers of texts that are predicted as, and belong to, each class; that are predicted as it; and
        that belong to it: 3×C.
        """
        pairs = [self.task.pairs(targets) for targets in (self.predicted, self.labels)]
        predicted, true = (texts * len(self.class_names) + classes for texts, classes in pairs)
        keys = (np.intersect1d(predicted, true, assume_unique=True), predicted, true)
        size = len(self.class_names)
        return np.stack([np.bincount(key % size, minlength=size) for key in keys])


class PredictionTable(NamedTuple):
    """What the table of the predictions for n texts says of these texts, in the order of the predictions."""

    origin: dict[str, list[str]]  # the file, the place in it and the kept columns, n cells each
    in_train: list[bool | None]  # whether the model was trained on each text; None if this is unknown
    texts: list[str]  # "" if texts are not kept


def table_columns(origin: Iterable[str], class_names: Sequence[str]) -> list[str]:
    """Return the names of the columns of the table of predictions: the origin of the texts, and those that follow."""
    names = ["label", "predicted", *(f"probability_{name}" for name in class_names), "in_train", "text"]
    return [*(kept := list(origin)), *number_names(names, taken=kept)]


class Statistics(NamedTuple):
    """Attention statistics of n texts, under these names in the file: mean weight by position, and entropies."""

    position_mean: np.ndarray  # mean weight in each of several equal parts of a text, from first to last
    entropy: np.ndarray  # n, nats
    effective: np.ndarray  # n, exp(entropy), the effective number of words
    length: np.ndarray  # n, number of words


def read_predictions(run: Path, folder: str = "predictions") -> Predictions | None:
    """Read the predictions for the test split, or for the validation split if there are none for the test split.

    Args:
        folder: predictions of the run's model, or baseline, those of the linear model.
    """
    test, val = (run / folder / f"{split}.npz" for split in ("test", "val"))
    return read_existing(test, Predictions.load) or read_existing(val, Predictions.load)


def read_table(run: Path, predictions: Predictions) -> PredictionTable | None:
    """Read the table of these predictions; None if it is absent, or an earlier version wrote it without the texts."""

    def read(path: Path) -> PredictionTable | None:
        rows = read_rows(path)
        names = list(rows[0]) if rows else []
        origin = names[: len(names) - 4 - len(predictions.class_names)]
        if len(rows) != len(predictions.labels) or names != table_columns(origin, predictions.class_names):
            return None
        in_train = [{"true": True, "false": False}.get(row[names[-2]].lower()) for row in rows]
        return PredictionTable({n: [row[n] for row in rows] for n in origin}, in_train, [r[names[-1]] for r in rows])

    return read_existing(run / "predictions" / f"{predictions.split}.csv", read)


def reads(file: str) -> Callable[[Callable[[Path], Value]], Callable[[Path], Value | None]]:
    """Return a decorator that turns a reader of a file's path into one of the folder of a run, as `read_existing`."""
    return lambda read: lambda run: read_existing(run / file, read)


@reads(HISTORY_FILE)
def read_history(path: Path) -> History | None:
    """Read the mean training loss and scores of each epoch, and the epoch's last validation loss and scores.

    Values that are not finite are ignored. Epochs without a training loss are omitted; this excludes the validation of
    the best checkpoint after training. The result is None if the file is absent or no epoch remains.
    """
    names = [f"{split}/{name}" for name in ("loss", *score_names()) for split in ("train", "val")]
    values: dict[str, dict[int, list[float]]] = {name: {} for name in names}
    for row in read_rows(path):
        for name in names:
            if row.get(name) and math.isfinite(value := float(row[name])):
                values[name].setdefault(int(row["epoch"]), []).append(value)
    history: History = {}
    for name, by_epoch in values.items():
        for epoch in values["train/loss"].keys() & by_epoch.keys():
            mean_or_last = np.mean(by_epoch[epoch]) if name.startswith("train/") else by_epoch[epoch][-1]
            history.setdefault(name, {})[epoch] = float(mean_or_last)
    return history or None


@reads(GRADIENTS_FILE)
def read_gradients(path: Path) -> dict[str, np.ndarray] | None:
    """Read the gradient norms, component → array with rows (step, norm) sorted by step; None if no norm is recorded."""
    norms: dict[str, list[tuple[float, float]]] = {}
    for row in read_rows(path):
        norms.setdefault(row["part"], []).append((float(row["step"]), float(row["norm"])))
    return {component: np.array(sorted(points)) for component, points in norms.items()} or None


@reads(STATISTICS_FILE)
def read_statistics(path: Path) -> Statistics:
    arrays = read_arrays(path)
    return Statistics(*(arrays[name].astype(np.float64) for name in Statistics._fields))


@reads("baseline/features.csv")
def read_features(path: Path) -> dict[str, list[str]]:
    """Read the features of the linear model with the largest weights of each class, by class."""
    features: dict[str, list[str]] = {}
    for row in read_rows(path):
        features.setdefault(row["class"], []).append(row["feature"])
    return features


def read_or_warn(read: Callable[[Path], Value], run: Path) -> Value | None:
    """Call `read`; if a file is damaged, log a warning and return None."""
    try:
        return read(run)
    except UserError as error:
        log.warning("%s; until then, the file is ignored", error)
        return None


def read_rows(path: Path) -> list[dict[str, str]]:
    """Return the rows of a CSV file as mappings from the name of a column to the cell."""
    allow_long_fields()
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def read_existing(path: Path, read: Callable[[Path], Value], remedy: str = RESUME) -> Value | None:
    """Return `read(path)`, or None if the file is absent; all errors of damaged files become a UserError."""
    if not path.exists():
        return None
    try:
        return read(path)
    except (ValueError, TypeError, LookupError, OSError, csv.Error, yaml.YAMLError) as error:
        raise UserError(f"{path} cannot be read ({error!r}): {remedy}") from error

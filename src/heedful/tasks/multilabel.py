"""The task of which each text has any number of C labels."""

import ast
import csv
import json
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Self

import numpy as np
from pydantic import Field

from heedful.base.errors import UserError
from heedful.base.formatting import format_repr
from heedful.runtime import NEUTRAL, Fault, reached
from heedful.tasks.labels import SEPARATORS, find_separator
from heedful.tasks.score_intervals import AreaInterval, ShareInterval
from heedful.tasks.scores import ScoreType, average_precision, ratio
from heedful.tasks.strata import distribute
from heedful.tasks.task import Task

if TYPE_CHECKING:  # comparisons do not import torch
    from torch import Tensor


QUOTED = re.compile(r"""'[^'\\]*'|"[^"\\]*\"""")
QUOTED_LIST = re.compile(rf"(?:{QUOTED.pattern})(?:(?:\s*,\s*|\s+|(?<=['\"])(?=['\"]))(?:{QUOTED.pattern}))*\s*,?")
NUMBERS = re.compile(r"(?:(?:[-+]?[0-9.]+(?:e[-+]?[0-9]+)?|True|False)(?:\s+|$))+")  # as NumPy prints them
PRINTED = re.compile(r"\[.*\]|\{.*\}|\([^()]*,[^()]*\)|[\w.]+\([\[{].*\)", re.DOTALL)  # objects as Python prints them


@dataclass(frozen=True)
class Multilabel(Task):
    """Each text has any number of C labels, or none; its target is a row of C booleans.

    A model has a logit for each class, whose logistic function is the probability of the class. A text has the classes
    whose probabilities reach their thresholds, which are chosen on the validation texts.

    Args:
        separator: stands between the labels in a cell of text, and in predictions; lists in a cell need none. None: the
            first of |;, with which most cells of several labels combine labels of other cells, or else |.
        precision: the threshold of a class is the lowest with this precision on the validation texts, or that with the
            highest precision if none has it; None: the threshold with the highest F1.
        thresholds: C, or n×C for texts that several models have classified; () means 0.5.
    """

    separator: Annotated[str, Field(min_length=1)] | None = None
    precision: Annotated[float, Field(gt=0, le=1)] | None = None
    thresholds: tuple[Annotated[float, Field(ge=0, le=1)], ...] = ()
    targets: ClassVar = "many labels"
    default_loss: ClassVar = "heedful.models.loss.BinaryRelevance"
    state_names: ClassVar = ("classes", "thresholds")
    separates: ClassVar = True
    balance: ClassVar = "loss.pos_weight=balanced"
    table: ClassVar = ("acc", "f1_micro", "f1_macro", "hamming", "map")

    @property
    def scores(self) -> Mapping[str, ScoreType]:
        def score(terms: Any, label: str, **options: Any) -> ScoreType:
            return ScoreType(
                lambda probabilities, targets: terms(self.predicted(probabilities), targets), label, **options
            )

        return {
            "acc": score(
                lambda p, t: (p == t).all(1).astype(np.float64),
                "accuracy",
                interval=ShareInterval(),
                share="right in all labels",
            ),
            "f1_micro": score(partial(_f1, axis=1), "micro F1"),
            "f1_macro": score(_macro_f1, "macro F1", is_by_class=True),
            "hamming": score(lambda p, t: (p != t).mean(1), "Hamming loss", lower_is_better=True),
            "map": ScoreType(
                _mean_average_precision,
                "mean average precision",
                is_by_class=True,
                interval=AreaInterval(),
                needs_probabilities=True,
            ),
        }

    @property
    def between(self) -> str:
        """The separator, or the usual one until the data are read."""
        return self.separator or SEPARATORS[0]

    def split(self, cell: Any) -> list[Any]:
        if isinstance(cell, str):
            if (listed := _read_list(cell)) is not None:
                return listed
            text = cell.strip()
            if PRINTED.fullmatch(text) and (self.between not in text or text[0] == "("):
                remedy = "write ['a', 'b'], or labels with a separator such as | between them"
                raise Fault(f"holds {format_repr(text)}, which is no list of labels: {remedy}")
            return self._divide(text)
        return cell if isinstance(cell, list) else [cell]

    def _divide(self, cell: str) -> list[str]:
        return [part for part in cell.split(self.between) if part.strip()]

    def suited(self, cells: Iterable[Any]) -> tuple[Self, str]:
        if self.separator is not None:
            return self, ""
        known = list(cells)
        texts = [cell for cell in known if isinstance(cell, str) and _read_list(cell) is None]
        separator = find_separator(texts)
        if separator is None and find_separator(texts, " "):
            example = format_repr(next(cell for cell in texts if " " in cell.strip()))
            raise UserError(
                f"labels such as {example}: a space may stand between several labels, which are also alone in other "
                "rows: set task.separator=' ', or task.separator='|' if they are single labels"
            )
        suited = replace(self, separator=separator or self.between)
        several = [cell for cell in texts if len(suited._divide(cell)) > 1]
        example = f", such as {format_repr(several[0])}" if several else ""
        message = (
            f"task.separator={format_repr(suited.between)}: {len(several):,} of the first {len(known):,} rows have "
            f"several labels{example}; if another character stands between labels, set it"
        )
        return suited, message if texts else ""

    @property
    def reading(self) -> str:
        return f"{type(self).__name__}, iterative {self.between}"  # the kind of stratification

    def find_classes(self, labels: Collection[str]) -> Sequence[str]:
        if named := [label for label in labels if self.between in label]:
            raise ValueError(
                f"the label {format_repr(named[0])} contains {self.between!r}, which stands between labels: set "
                "task.separator to another character"
            )
        if broken := [label for label in labels if "\n" in label or "\t" in label]:
            raise ValueError(
                f"the label {format_repr(broken[0])} contains a line break or a tab: write the labels of a text as a "
                "list, or with a separator such as | between them"
            )
        if set(labels) in ({"0", "1"}, {"false", "true"}):
            raise ValueError(
                "all labels are 0 or 1: if they say for each class whether the text has it, give columns of 0 and 1, "
                "data.label=[…], or an array in Python; if these are names, choose others"
            )
        return super().find_classes(labels)

    def encode(self, names: Sequence[str], numbers: np.ndarray, sizes: np.ndarray) -> np.ndarray:
        targets = np.zeros((len(sizes), len(self.classes)), dtype=bool)
        columns = np.array([self.classes.index(name) for name in names], dtype=np.int64)
        targets[np.repeat(np.arange(len(sizes)), sizes), columns[numbers]] = True
        return targets

    def decode(self, targets: np.ndarray) -> list[str]:
        return list(map(self.between.join, self.values(targets)))

    def values(self, targets: np.ndarray) -> list[list[str]]:
        return [[self.classes[c] for c in np.flatnonzero(np.asarray(row))] for row in targets]

    def certain(self, targets: np.ndarray) -> np.ndarray:
        return targets.astype(np.float32)

    def recode(self, targets: np.ndarray, classes: Sequence[str]) -> np.ndarray:
        if tuple(classes) == self.classes:
            return targets
        recoded = np.zeros((len(targets), len(self.classes)), dtype=bool)
        recoded[:, [self.classes.index(name) for name in classes]] = targets
        return recoded

    def unlabelled(self, texts: int) -> np.ndarray:
        return np.zeros((texts, len(self.classes)), dtype=bool)

    def pairs(self, targets: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        texts, classes = np.nonzero(targets)
        return texts, classes

    def strata(self, targets: np.ndarray) -> np.ndarray:
        """Return the rarest label of each text, C without labels."""
        rarity = np.where(targets, targets.sum(0), len(targets) + 1)  # n×C
        return np.where(np.any(targets, 1), rarity.argmin(1), len(self.classes))

    def rarest_side(self, targets: np.ndarray, groups: np.ndarray | None) -> int:
        without = self.class_counts(~targets, groups)
        return max(2, min(super().rarest_side(targets, groups), without[without > 0].min(initial=len(targets))))

    def draw(self, targets: np.ndarray, total: int, spare: int, seed: Sequence[int]) -> np.ndarray:
        counts, kinds = targets.sum(0), len(np.unique(self.strata(targets)))
        total = int(np.clip(total, kinds, len(targets) - kinds * spare))
        drawn = np.clip(total / len(targets) * counts, 1, counts - spare)  # of each label
        sizes = np.array([total, len(targets) - total])
        return np.flatnonzero(distribute(targets, sizes, np.stack([drawn, counts - drawn]), seed) == 0)

    def folds(self, targets: np.ndarray, folds: int, seed: Sequence[int]) -> np.ndarray:
        sizes = np.bincount(np.arange(len(targets)) % folds, minlength=folds)
        return distribute(targets, sizes, np.outer(sizes / len(targets), targets.sum(0)), seed)

    def _learnable(self, targets: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        classes = np.flatnonzero(targets.any(0) & ~targets.all(0))
        return classes, targets[:, classes]

    def probabilities(self, logits: "Tensor") -> "Tensor":
        return logits.float().sigmoid()

    def logits(self, probabilities: "Tensor") -> "Tensor":
        return probabilities.logit(eps=1e-7)

    def predicted(self, probabilities: Any) -> Any:
        if isinstance(probabilities, np.ndarray):
            return reached(probabilities, self.thresholds)
        return probabilities >= probabilities.new_tensor(self.applied_thresholds)

    def is_correct(self, probabilities: Any, targets: Any) -> Any:
        return (self.predicted(probabilities) == targets).all(1)

    @property
    def applied_thresholds(self) -> Sequence[float]:
        return self.thresholds if len(self.thresholds) else (NEUTRAL,) * len(self.classes)

    def with_classes(self, classes: Sequence[str]) -> Self:
        known = dict(zip(self.classes, self.thresholds, strict=False))
        thresholds = tuple(known.get(name, NEUTRAL) for name in classes) if known else ()
        return self.with_state(classes=tuple(classes), thresholds=thresholds)

    def training_sums(self, logits: "Tensor", targets: "Tensor", thresholds: "Tensor") -> "dict[str, Tensor]":
        return {"acc": ((self.probabilities(logits) >= thresholds) == targets).all(1).sum()}

    def confidence(self, probabilities: np.ndarray) -> np.ndarray:
        """Return the probability of the least certain of the decisions about a text."""
        return np.asarray(np.where(self.predicted(probabilities), probabilities, 1 - probabilities).min(1))

    def metric_options(self) -> dict[str, Any]:
        return {"task": "multilabel", "num_labels": len(self.classes)}

    def fit(self, probabilities: np.ndarray, targets: np.ndarray) -> Self:
        columns = zip(probabilities.T.astype(np.float64), targets.T, strict=True)
        return replace(self, thresholds=tuple(_threshold(*column, self.precision) for column in columns))

    def untuned(self) -> Self:
        return replace(self, thresholds=())

    def joint(self, tasks: Sequence[Task]) -> Self:
        of_tasks = [
            np.asarray(task.applied_thresholds)[..., [task.classes.index(name) for name in self.classes]]
            for task in tasks
        ]
        mean: Any = np.mean(of_tasks, 0)  # C, or n×C of pooled tasks
        return replace(self, thresholds=tuple(mean.tolist()) if mean.ndim == 1 else mean)

    def pool(self, tasks: Sequence[Task], sizes: Sequence[int]) -> Self:
        limits: Any = np.repeat([task.applied_thresholds for task in tasks], sizes, axis=0)
        return replace(self, thresholds=limits)


def _read_list(cell: str) -> list[Any] | None:
    """Return the list that a cell contains as JSON, Python, NumPy or PostgreSQL print it; None for other texts."""
    cell = cell.strip()
    if cell[:1] + cell[-1:] not in ("[]", "()", "{}"):
        return [] if cell == "set()" else None
    if cell == "{}":
        return []
    with suppress(ValueError):
        value = json.loads(cell)
        return value if isinstance(value, list) else None
    with suppress(ValueError, SyntaxError, MemoryError, RecursionError):
        value = ast.literal_eval(cell)
        if repr(value) == cell and isinstance(value, list | tuple):
            return list(value)
    inner = cell[1:-1].strip()
    if QUOTED_LIST.fullmatch(inner):
        return [name[1:-1] for name in QUOTED.findall(inner)]
    if cell[0] == "[" and NUMBERS.fullmatch(inner):
        return inner.split()
    if cell[0] == "(" or re.search(r"['\[\](){}\\]", inner):
        return None
    (names,) = csv.reader([inner], skipinitialspace=True)
    return [name.strip() for name in names]


def _threshold(probabilities: np.ndarray, targets: np.ndarray, precision: float | None) -> float:
    """Return the threshold of a class, halfway between the probabilities of two texts."""
    if not targets.any():
        return NEUTRAL
    order = np.argsort(-probabilities, kind="stable")
    scores, hits, count = probabilities[order], targets[order].cumsum(), np.arange(1, len(order) + 1)
    last = np.append(scores[1:] < scores[:-1], True)  # of the texts with the same probability
    scores, hits, count = scores[last], hits[last], count[last]
    values = 2 * hits / (count + targets.sum())
    if precision is not None:
        shares = hits / count
        values = np.where(shares >= precision, hits, shares - 1)
    best = int(values.argmax())
    return float((scores[best] + (scores[best + 1] if best + 1 < len(scores) else 0.0)) / 2)


def _f1(predicted: np.ndarray, targets: np.ndarray, axis: int) -> np.ndarray:
    return ratio(2.0 * (predicted & targets).sum(axis), predicted.sum(axis) + targets.sum(axis))


def _macro_f1(predicted: np.ndarray, targets: np.ndarray) -> np.ndarray | None:
    known = np.flatnonzero((predicted | targets).any(0))
    columns = [ratio(2.0 * (predicted[:, c] & targets[:, c]), 1.0 * predicted[:, c] + targets[:, c]) for c in known]
    return np.mean(columns, 0) if columns else None


def _mean_average_precision(probabilities: np.ndarray, targets: np.ndarray) -> np.ndarray | None:
    """The mean over the classes that have texts of the average precision."""
    columns = [average_precision(probabilities[:, c], targets[:, c]) for c in np.flatnonzero(targets.any(0))]
    return np.mean(columns, 0) if columns else None

"""The task of which each text has a number, such as a rating or a price."""

import logging
import math
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Self

import numpy as np
from pydantic import Field, FiniteFloat

from heedful.base.errors import UserError
from heedful.base.formatting import format_repr
from heedful.runtime import number_remedy
from heedful.tasks.labels import sort_classes
from heedful.tasks.score_intervals import FISHER, LOGARITHM, MeanInterval
from heedful.tasks.scores import ScoreType, Terms
from heedful.tasks.task import Task

if TYPE_CHECKING:  # comparisons do not import torch
    from torch import Tensor

STRATA = 10  # largest number of strata, and smallest mean number of texts in one
LARGE = 1e6  # ratio of mean and scale from which the seven digits of float32 do not tell numbers apart
REAL = (-math.inf, math.inf)
log = logging.getLogger(__name__)
CORRELATION, ROOT = MeanInterval(FISHER, lost=2), MeanInterval(LOGARITHM, lost=2)


def _of_columns(terms: Callable[[np.ndarray, np.ndarray], np.ndarray | None]) -> Terms:
    """Return the terms of a score as a function of predictions n×1 and targets n."""
    return lambda predictions, targets: terms(predictions[:, 0], targets.astype(np.float64))


def absolute(predicted: np.ndarray, targets: np.ndarray) -> np.ndarray:
    """The absolute errors."""
    return np.asarray(np.abs(predicted - targets))


def rmse(predicted: np.ndarray, targets: np.ndarray) -> np.ndarray:
    """The root of the mean squared error."""
    squares = (predicted - targets) ** 2
    value = math.sqrt(squares.mean())
    return np.asarray(value + (squares - squares.mean()) / (2 * value or 1.0))


def r2(predicted: np.ndarray, targets: np.ndarray) -> np.ndarray | None:
    """One minus the squared errors as a share of those of the mean of these texts; None if all targets are equal."""
    squares, total = (predicted - targets) ** 2, (targets - targets.mean()) ** 2
    if np.ptp(targets) == 0:
        return None
    share = squares.mean() / total.mean()
    return np.asarray(1 - share - (squares - share * total) / total.mean())


def pearson(predicted: np.ndarray, targets: np.ndarray) -> np.ndarray | None:
    """The linear correlation; None if all predictions or all targets are equal."""
    if np.ptp(predicted) == 0 or np.ptp(targets) == 0:
        return None
    x, y = ((numbers - numbers.mean()) / numbers.std() for numbers in (predicted, targets))
    return _correlation(x * y, x**2, y**2)


def spearman(predicted: np.ndarray, targets: np.ndarray) -> np.ndarray | None:
    """The linear correlation of the ranks, where equal values share the mean of their ranks.

    The term of a text includes that it changes the ranks of others.
    """
    if np.ptp(predicted) == 0 or np.ptp(targets) == 0:
        return None
    # the share of texts with a lower value, and half of those with the same one, less its mean
    u, v = (0.5 - _above(numbers, np.ones(len(numbers))) for numbers in (predicted, targets))
    products = [
        a * b + _above(x, b) + _above(y, a)
        for a, b, x, y in ((u, v, predicted, targets), (u, u, predicted, predicted), (v, v, targets, targets))
    ]
    means = [(a * b).mean() for a, b in ((u, v), (u, u), (v, v))]
    scales = (math.sqrt(means[1] * means[2]), means[1], means[2])
    return _correlation(*((part - 2 * mean) / scale for part, mean, scale in zip(products, means, scales, strict=True)))


def _above(values: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return for each of n values the sum of the weights of higher values, and half of those of equal ones, over n."""
    order = np.argsort(values, kind="stable")
    sums = np.append(0.0, weights[order].cumsum())
    ends = [values[order].searchsorted(values, side) for side in ("left", "right")]
    return np.asarray((sums[-1] - (sums[ends[0]] + sums[ends[1]]) / 2) / len(values))


def _correlation(products: np.ndarray, first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Return the terms of a correlation r, products - r (first + second) / 2 + r, with r the mean of the products."""
    value = products.mean()
    return np.asarray(value + products - value * (first + second) / 2)


def _fits(values: np.ndarray) -> bool:
    """Whether float32 keeps more than half of different numbers apart."""
    return 2 * len(np.unique(values.astype(np.float32))) > len(values)


def _offset(values: np.ndarray) -> float:
    """Return what to subtract from numbers so that float32 keeps them apart: 0 if it does, or the lowest one."""
    distinct = np.unique(values)
    return 0.0 if _fits(distinct) else float(distinct[0])


@dataclass(frozen=True)
class Regression(Task):
    """Each text has a number, float32; its prediction takes the place of the probabilities, n×1.

    A model has one logit, the prediction in units in which the training numbers have mean 0 and variance 1.

    Args:
        mean, scale: mean and standard deviation of the training numbers, less the offset.
        offset: is subtracted from all numbers if they are so large that float32 would not keep them apart; otherwise 0.
    """

    mean: FiniteFloat = 0.0
    scale: Annotated[FiniteFloat, Field(gt=0)] = 1.0
    offset: FiniteFloat = 0.0
    targets: ClassVar = "a number"
    default_loss: ClassVar = "heedful.models.loss.SquaredError"
    state_names: ClassVar = ("classes", "mean", "scale", "offset")
    has_classes: ClassVar = False
    outputs: ClassVar = ("value",)
    trained: ClassVar = ()
    table: ClassVar = ("r2", "rmse", "mae", "pearson", "spearman")
    scores: ClassVar = {
        "r2": ScoreType(_of_columns(r2), "R²", -math.inf, limits=REAL),
        "rmse": ScoreType(
            _of_columns(rmse), "root mean squared error", 0.0, math.inf, True, limits=REAL, interval=ROOT
        ),
        "mae": ScoreType(_of_columns(absolute), "mean absolute error", 0.0, math.inf, True, limits=REAL),
        "pearson": ScoreType(_of_columns(pearson), "Pearson correlation", -1.0, limits=REAL, interval=CORRELATION),
        "spearman": ScoreType(_of_columns(spearman), "Spearman correlation", -1.0, limits=REAL, interval=CORRELATION),
    }

    @property
    def reading(self) -> str:
        return type(self).__name__

    def fault(self, label: str) -> str:
        try:
            value = float(label.replace("_", "?"))  # Python ignores _ in numbers
        except ValueError:
            remedy = number_remedy([label])
            return "is not a number, which task=regression needs" + (f" ({remedy})" if remedy else "")
        is_finite = abs(value) <= float(np.finfo(np.float32).max)
        return "" if is_finite else "is not a finite number in float32, which task=regression needs"

    def find_classes(self, labels: Collection[str]) -> Sequence[str]:
        if len(labels) < 2:
            raise ValueError(f"every row has the number {format_repr(*labels)}; training needs two or more numbers")
        values = np.array(list(labels), dtype=np.float64)
        if not _fits(values - _offset(values)):
            first, second, *_ = sort_classes(labels)
            raise ValueError(
                f"{len(values):,} different numbers, such as {first} and {second}, become fewer than half as "
                "many in float32: leave out those that are far from the others"
            )
        return ()

    def learn(self, targets: np.ndarray) -> Self:
        if offset := _offset(targets):
            log.info("%.17g is subtracted from all numbers, because float32 would not keep them apart", offset)
        values = (targets - offset).astype(np.float32).astype(np.float64)
        return replace(self, mean=float(values.mean()), scale=float(values.std()) or 1.0, offset=offset)

    def encode(self, names: Sequence[str], numbers: np.ndarray, sizes: np.ndarray) -> np.ndarray:
        """Return the numbers as they are, float64; `recode` makes them targets."""
        return np.array(names, dtype=np.float64)[numbers]

    def decode(self, targets: np.ndarray) -> list[str]:
        ratio = abs(self.mean + self.offset) / self.scale
        digits = 7 if ratio < LARGE else min(17, 7 + math.ceil(math.log10(ratio)))
        return [f"{value:.{digits}g}" for value in self.values(targets)]

    def values(self, targets: np.ndarray) -> list[Any]:
        return [float(target) + self.offset for target in targets]

    def recode(self, targets: np.ndarray, classes: Sequence[str]) -> np.ndarray:
        return (targets - self.offset).astype(np.float32)

    def shown(self, values: np.ndarray) -> np.ndarray:
        return values.astype(np.float64) + self.offset if self.offset else values

    @property
    def of_shown(self) -> Self:
        return replace(self, mean=self.mean + self.offset, offset=0.0)

    def joint(self, tasks: Sequence[Any]) -> Self:
        if len(offsets := {task.offset for task in tasks}) > 1:
            raise UserError(f"an ensemble needs models of numbers with the same offset, not {sorted(offsets)}")
        return self

    def unlabelled(self, texts: int) -> np.ndarray:
        return np.full(texts, np.nan, dtype=np.float32)

    def pairs(self, targets: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        none = np.zeros(0, dtype=np.int64)
        return none, none

    def strata(self, targets: np.ndarray) -> np.ndarray:
        """Return the tenth of each number, or fewer parts if these have fewer than ten texts."""
        targets = targets.astype(np.float32) if _fits(np.unique(targets)) else targets
        size = min(STRATA, max(1, len(targets) // STRATA))
        edges = np.quantile(targets, np.arange(1, size) / size)
        return np.unique(edges).searchsorted(targets, "right")

    def linear_model(self, targets: np.ndarray, c: float) -> tuple[Any, np.ndarray, Any] | None:
        from sklearn.linear_model import Ridge  # slow

        return (Ridge(10 / c), targets, slice(None)) if np.ptp(targets) else None

    def scaled(self, targets: "Tensor") -> "Tensor":
        return (targets - self.mean) / self.scale

    def probabilities(self, logits: "Tensor") -> "Tensor":
        return logits.float() * self.scale + self.mean

    def logits(self, probabilities: "Tensor") -> "Tensor":
        return self.scaled(probabilities)

    def predicted(self, probabilities: Any) -> Any:
        return probabilities[:, 0]

    def confidence(self, probabilities: np.ndarray) -> np.ndarray:
        """Return 0, because a number says nothing about itself."""
        return np.zeros(len(probabilities))

    def training_sums(self, logits: "Tensor", targets: "Tensor", thresholds: "Tensor") -> "dict[str, Tensor]":
        return {}

    def notable(self, probabilities: np.ndarray, targets: np.ndarray) -> dict[str, np.ndarray]:
        order = np.argsort(absolute(probabilities[:, 0], targets), kind="stable")
        return {"hit": order, "error": order[::-1]}

    def certain(self, targets: np.ndarray) -> np.ndarray:
        return targets[:, None]

    def trial(self, texts: int) -> np.ndarray:
        return np.arange(texts, dtype=np.float32)[:, None]

    def metric_options(self) -> dict[str, Any]:
        return {}

"""The scores, each with its terms: one number per text, whose mean over the texts is the score.

The variance of the terms, divided by the number of texts, estimates the variance of the score. The terms of acc, nll
and brier are exact. Those of the other scores are linearized (the infinitesimal jackknife, Efron 1982): they state how
the score changes with the share of each text. For AUROC, this variance is that of DeLong et al. (1988).
"""

import math
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from heedful.tasks.score_intervals import (
    AreaInterval,
    Bounds,
    CalibrationInterval,
    MeanInterval,
    Scored,
    ShareInterval,
    confidence_bins,
)

# lower bound of a probability in nll: smaller values are rounding errors of float32
SMALLEST = float(np.finfo(np.float32).eps)
Terms = Callable[[np.ndarray, np.ndarray], np.ndarray | None]  # probabilities n×C, labels n → terms n


class ScoreType(NamedTuple):
    """What a score is: how it is computed and named, where it ends, which direction is better, and its interval."""

    compute: Terms  # None if the score is not defined on these texts
    label: str
    low: float = 0.0
    high: float = 1.0
    lower_is_better: bool = False
    is_by_class: bool = False  # whether it is a mean over classes
    limits: tuple[float, float] = (0.0, 1.0)  # of the probabilities, which rounding may exceed
    interval: MeanInterval = MeanInterval()
    needs_probabilities: bool = False  # whether predicted labels alone do not determine it
    share: str = ""  # what the texts are of which it is the share, such as "right"; "" for other scores

    def terms(self, probabilities: np.ndarray, labels: np.ndarray) -> np.ndarray | None:
        """Return the n terms for probabilities n×C and labels n; None if the score is not defined on these texts."""
        return self.compute(probabilities.astype(np.float64).clip(*self.limits), labels)

    def bounds(self, texts: Scored, freedom: float) -> Bounds:
        """Return the 95 % interval, which ends where the score ends; None if it cannot be estimated."""
        bounds = self.interval.bounds(texts, freedom)
        return bounds and (max(self.low, bounds[0]), min(self.high, bounds[1]))

    def turned(self, values: Any) -> Any:
        """Return values of which higher ones are better, or what such values stand for."""
        return -values if self.lower_is_better else values

    @property
    def is_share(self) -> bool:
        return bool(self.share)

    @property
    def has_unit(self) -> bool:
        """Whether the size of its values depends on the unit of the targets."""
        return math.isinf(self.high)


def accuracy(probabilities: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Return 1 for each text whose most probable class is the true class, and 0 for the others."""
    return (probabilities.argmax(1) == labels).astype(np.float64)


def macro(
    probabilities: np.ndarray, labels: np.ndarray, predicted: int, true: int, with_predicted: bool = True
) -> np.ndarray:
    """The mean over classes of the hits as a share of the texts that are predicted as, or belong to, the class.

    Args:
        predicted, true: weights of the two numbers of texts: 1 and 0 for precision, 0 and 1 for recall, 1 and 1 for F1.
        with_predicted: whether the mean includes classes that are predicted but have no text.
    """
    predictions, by_class = probabilities.argmax(1), []
    for c in np.union1d(labels, predictions) if with_predicted else np.unique(labels):
        of_prediction, of_label = (predictions == c).astype(np.float64), (labels == c).astype(np.float64)
        part = (predicted + true) * (of_prediction * of_label)
        by_class.append(ratio(part, predicted * of_prediction + true * of_label))
    return np.mean(by_class, axis=0)


def ratio(part: np.ndarray, whole: np.ndarray) -> np.ndarray:
    """Return the terms of a ratio of two sums over texts, n and n → n; it is 0 if nothing is in the whole."""
    value = part.sum() / max(whole.sum(), 1.0)
    return np.asarray(value + (part - value * whole) / (whole.mean() or 1.0))


def average_precision(scores: np.ndarray, positive: np.ndarray) -> np.ndarray:
    """The mean over the positive texts of the share of positive texts among those with at least the same score.

    The term of a text is the derivative with respect to its weight: it is in its own share, and in those of the texts
    below it.
    """
    n, hits, below = len(scores), np.sort(scores[positive]), np.sort(scores)
    count = n - below.searchsorted(hits, "left")  # of texts with at least the score of each positive one, ascending
    precision = (len(hits) - hits.searchsorted(hits, "left")) / count
    sums = [np.append(0.0, increments.cumsum()) for increments in (1 / count, precision / count)]
    shares, products = (total[hits.searchsorted(scores, "right")] for total in sums)
    change = positive * (shares - precision.mean()) - products
    change[positive] += precision[hits.searchsorted(scores[positive], "left")]
    return np.asarray(precision.mean() + change * n / len(hits))


def mcc(probabilities: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Matthews' correlation (Gorodkin 2004); 0 if all texts have the same true class, or the same predicted class."""
    hit, predicted, classes = accuracy(probabilities, labels), probabilities.argmax(1), probabilities.shape[1]
    p, t = (np.bincount(values, minlength=classes) / len(labels) for values in (predicted, labels))
    covariance, spread = hit.mean() - p @ t, (1 - p @ p) * (1 - t @ t)
    if p.max() == 1 or t.max() == 1:
        return np.zeros(len(labels))
    change = hit - hit.mean() - (p[labels] + t[predicted] - 2 * p @ t)
    widening = -2 * (p[predicted] - p @ p) / (1 - p @ p) - 2 * (t[labels] - t @ t) / (1 - t @ t)
    return (covariance + change - covariance * widening / 2) / np.sqrt(spread)


def auroc(probabilities: np.ndarray, labels: np.ndarray) -> np.ndarray | None:
    """The area under the ROC curve: of class 1 if there are two, otherwise the mean over classes against the rest.

    The area of a class is the fraction of pairs (a text of the class, another text) in which the text of the class has
    the higher probability; a tie counts as one half (Mann and Whitney 1947). None if a class has no text.
    """
    classes = probabilities.shape[1]
    if len(np.unique(labels)) < classes:
        return None
    return np.mean([_area(probabilities[:, c], labels == c) for c in ([1] if classes == 2 else range(classes))], axis=0)


def _area(scores: np.ndarray, positive: np.ndarray) -> np.ndarray:
    correct = np.empty(len(scores))  # the fraction of a text's pairs that are in the correct order
    scale = np.empty(len(scores))  # 1 / the share of texts on the same side, for the divisor m - 1 of m such texts
    for side in (positive, ~positive):
        others, m = np.sort(scores[~side]), int(side.sum())
        below = others.searchsorted(scores[side], "left") + others.searchsorted(scores[side], "right")
        correct[side] = below / (2 * len(others))
        scale[side] = len(scores) / m * math.sqrt(m / (m - 1 or 1))
    correct[~positive] = 1 - correct[~positive]  # a text of another class should have the lower score
    area = correct[positive].mean()
    return np.asarray(area + (correct - area) * scale)


def ece(probabilities: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """The calibration error of the predicted class over 15 bins of equal width (Guo et al. 2017, equation 3)."""
    confidence = probabilities.max(1)
    gaps = confidence - accuracy(probabilities, labels)
    bins = confidence_bins(confidence)
    return np.sign(np.bincount(bins, gaps))[bins] * gaps


def nll(probabilities: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """The negative logarithm of the true class's probability, in nats."""
    return -np.log(np.maximum(probabilities[np.arange(len(labels)), labels], SMALLEST))


def brier(probabilities: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """The squared error summed over classes (Brier 1950), 0 to 2."""
    error = probabilities.copy()
    error[np.arange(len(labels)), labels] -= 1
    return (error**2).sum(1)


SCORES = {
    "acc": ScoreType(accuracy, "accuracy", interval=ShareInterval(), share="right"),
    "balanced_acc": ScoreType(
        partial(macro, predicted=0, true=1, with_predicted=False), "balanced accuracy", is_by_class=True
    ),
    "precision_macro": ScoreType(partial(macro, predicted=1, true=0), "macro precision", is_by_class=True),
    "f1_macro": ScoreType(partial(macro, predicted=1, true=1), "macro F1", is_by_class=True),
    "mcc": ScoreType(mcc, "Matthews correlation", low=-1.0),
    "auroc": ScoreType(auroc, "AUROC", is_by_class=True, interval=AreaInterval(), needs_probabilities=True),
    "ece": ScoreType(
        ece, "calibration error", lower_is_better=True, interval=CalibrationInterval(), needs_probabilities=True
    ),
    "brier": ScoreType(brier, "Brier score", high=2.0, lower_is_better=True, needs_probabilities=True),
    "nll": ScoreType(nll, "negative log-likelihood", high=math.inf, lower_is_better=True, needs_probabilities=True),
}

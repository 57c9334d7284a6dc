"""Final scores of a split, each with its 95 % interval and number of texts."""

import math
from collections.abc import Mapping, Sequence
from statistics import NormalDist

import numpy as np
from scipy.special import ndtr

from src.run_result import ClassScore, Score
from src.terms.intervals import Sample, estimate, mean_of_terms
from src.terms.scores import SCORES, ScoreType, confidence_bins

QUANTILE = NormalDist().inv_cdf(0.975)


def evaluate(
    probabilities: np.ndarray,
    labels: np.ndarray,
    *,
    majority: int | None = None,
    added: Mapping[str, ScoreType] | None = None,
) -> dict[str, Score]:
    """Compute SCORES, added scores, and majority_acc, the accuracy of predicting the class `majority` everywhere.

    acc and majority_acc have Wilson intervals, ece that of `calibration_interval`, and auroc that of `area_interval`.
    The other intervals are Student's t intervals of the mean of the terms, and end at the score's lowest and highest
    possible value. The bounds are None if all terms are equal.

    Args:
        probabilities: n×C in [0, 1], rows summing to 1.
        labels: n integers from 0 to C-1.
        majority: index of the most frequent class of the training texts; if it is None, majority_acc is omitted.
    """
    if not np.isfinite(probabilities).all():
        raise ValueError("the model returned probabilities that are not finite")
    labels, n = labels.astype(np.int64), len(labels)
    scores = {name: _score(name, score, probabilities, labels) for name, score in (SCORES | dict(added or {})).items()}
    if majority is not None:
        count = int((labels == majority).sum())
        scores = {"acc": scores["acc"], "majority_acc": Score(count / n, *wilson_interval(count, n), n)} | scores
    return scores


def _score(name: str, score: ScoreType, probabilities: np.ndarray, labels: np.ndarray) -> Score:
    n = len(labels)
    if (terms := score.terms(probabilities, labels)) is None:
        return Score(None, None, None, n)
    if name == "acc":
        return Score(float(terms.mean()), *wilson_interval(int(terms.sum()), n), n)
    value, low, high = mean_of_terms(terms)
    if low is None or high is None:
        return Score(value, None, None, n)
    if name == "ece":
        low, high = calibration_interval(probabilities.astype(np.float64).clip(0, 1), labels)
    elif name == "auroc":
        low, high = area_interval(value, float(terms.std()) / math.sqrt(n))
    return Score(value, max(score.low, low), min(score.high, high), n)


def score_differences(probabilities: np.ndarray, others: np.ndarray, labels: np.ndarray) -> dict[str, Score]:
    """Return by how much each score of one model exceeds that of another on the same n texts, with paired intervals.

    Args:
        probabilities, others: n×C, the predictions of the two models.
    """
    differences = {}
    for name, score in SCORES.items():
        terms, other_terms = score.terms(probabilities, labels), score.terms(others, labels)
        if terms is not None and other_terms is not None:
            value, low, high, _ = estimate([(1, Sample(terms[None])), (-1, Sample(other_terms[None]))])
            differences[name] = Score(value, low, high, len(labels))
    return differences


def wilson_interval(count: int, n: int) -> tuple[float, float]:
    """Return the 95 % interval of a proportion (Wilson 1927).

    Args:
        count: number of successes, 0 to n.
        n: number of trials, at least 1.
    """
    p, extra = count / n, QUANTILE**2 / n
    centre, half = p + extra / 2, QUANTILE * math.sqrt(p * (1 - p) / n + extra / (4 * n))
    low, high = (centre - half) / (1 + extra), (centre + half) / (1 + extra)
    return (0.0 if count == 0 else low), (1.0 if count == n else high)


def area_interval(area: float, error: float) -> tuple[float, float]:
    """Return the 95 % interval of an area under the ROC curve with this standard error (DeLong et al. 1988).

    The interval is symmetric in the logit of the area, so that it ends between 0 and 1 (Pepe 2003, section 5.2).
    """
    if not 0 < area < 1:
        return area, area
    logit, half = math.log(area / (1 - area)), QUANTILE * error / (area * (1 - area))
    return 1 / (1 + math.exp(half - logit)), 1 / (1 + math.exp(-half - logit))


def calibration_interval(probabilities: np.ndarray, labels: np.ndarray) -> tuple[float, float]:
    """Return the 95 % interval of the calibration error over 15 bins.

    The error is the sum of the bins' absolute gaps, whose noise biases it upwards. The gap of a bin is approximately
    normal around the true gap, so its absolute value has a folded normal distribution (Leone et al. 1961). The interval
    is value - bias ± 1.96 standard deviations of this sum, but contains the value. It extends to 0 if a perfectly
    calibrated model would exceed the value in 2.5 % of cases or more.
    """
    confidence = probabilities.max(1)
    gaps = confidence - (probabilities.argmax(1) == labels)
    n, bins = len(labels), confidence_bins(confidence)
    size = np.maximum(np.bincount(bins), 1)
    gap = np.bincount(bins, gaps) / n
    spread = np.sqrt(np.maximum(np.bincount(bins, gaps**2) - np.bincount(bins, gaps) ** 2 / size, 0)) / n
    calibrated_spread = np.sqrt(np.bincount(bins, confidence * (1 - confidence))) / n
    value, (mean, deviation) = float(np.abs(gap).sum()), _folded_normal(gap, spread)
    calibrated_mean, calibrated_deviation = _folded_normal(np.zeros(len(gap)), calibrated_spread)
    unbiased, half = 2 * value - mean, QUANTILE * deviation
    is_calibrated = value <= calibrated_mean + QUANTILE * calibrated_deviation
    return (0.0 if is_calibrated else min(value, unbiased - half)), max(value, unbiased + half)


def _folded_normal(mean: np.ndarray, deviation: np.ndarray) -> tuple[float, float]:
    """Return the mean and the standard deviation of Σ |x| for independent normal x."""
    ratio = np.abs(mean) / np.maximum(deviation, 1e-300)
    folded = deviation * math.sqrt(2 / math.pi) * np.exp(-(np.minimum(ratio, 1e3) ** 2) / 2)
    folded += np.abs(mean) * (1 - 2 * ndtr(-ratio))
    return float(folded.sum()), math.sqrt(max(0.0, float((mean**2 + deviation**2 - folded**2).sum())))


def class_scores(probabilities: np.ndarray, labels: np.ndarray, class_names: Sequence[str]) -> dict[str, ClassScore]:
    """Return the scores of each class, by name.

    Precision is 0 if the class is never predicted, and recall is 0 if it has no texts. If both hold, precision, recall
    and F1 are None.
    """
    table = confusion_matrix(probabilities, labels)
    scores: dict[str, ClassScore] = {}
    for name, hits, predicted, true in zip(class_names, np.diag(table), table.sum(0), table.sum(1), strict=True):
        parts = ((hits, predicted), (hits, true), (2 * hits, predicted + true))
        precision, recall, f1 = (float(part / max(whole, 1)) if predicted + true else None for part, whole in parts)
        scores[name] = ClassScore(precision, recall, f1, int(true))
    return scores


def confusion_matrix(probabilities: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Return the number of texts by true class (row) and predicted class (column), C×C."""
    classes = probabilities.shape[1]
    cells = labels * classes + probabilities.argmax(1)
    return np.bincount(cells, minlength=classes**2).reshape(classes, classes)

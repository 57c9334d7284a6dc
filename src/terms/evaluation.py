"""Final scores of a split, each with its 95 % interval and number of texts."""

import math

import numpy as np

from src.run_result import Score
from src.terms.intervals import Sample, area_interval, calibration_interval, estimate, mean_of_terms, wilson_interval
from src.terms.scores import SCORES, ScoreType


def evaluate(probabilities: np.ndarray, labels: np.ndarray, *, majority: int | None = None) -> dict[str, Score]:
    """Compute SCORES and majority_acc, the accuracy of predicting the class `majority` everywhere.

    acc and majority_acc have Wilson intervals, ece that of `calibration_interval`, and auroc that of `area_interval`.
    The other intervals are Student's t intervals of the mean of the terms, and end at the score's lowest and highest
    possible value. The bounds are None if all terms are equal.

    Args:
        probabilities: n×C in [0, 1], rows summing to 1.
        labels: n integers from 0 to C-1.
        majority: index of the most frequent class of the training texts; if it is None, majority_acc is omitted.
    """
    labels = labels.astype(np.int64)
    scores = {name: _score(name, score, probabilities, labels) for name, score in SCORES.items()}
    if majority is not None:
        scores = {"acc": scores["acc"], "majority_acc": _proportion(labels == majority)} | scores
    return scores


def _score(name: str, score: ScoreType, probabilities: np.ndarray, labels: np.ndarray) -> Score:
    n = len(labels)
    if (terms := score.terms(probabilities, labels)) is None:
        return Score(n=n)
    if name == "acc":
        return _proportion(terms)
    value, low, high, _ = mean_of_terms(terms)
    if low is None or high is None:
        return Score(value, n=n)
    if name == "ece":
        low, high = calibration_interval(probabilities.astype(np.float64).clip(0, 1), labels)
    elif name == "auroc":
        low, high = area_interval(value, float(terms.std()) / math.sqrt(n))
    return Score(value, max(score.low, low), min(score.high, high), n)


def _proportion(hits: np.ndarray) -> Score:
    return Score(float(hits.mean()), *wilson_interval(int(hits.sum()), len(hits)), len(hits))


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

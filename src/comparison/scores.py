"""Scores as means of one number per text, so that one resampling of the texts applies to all of them."""

from collections.abc import Callable, Sequence

import numpy as np

from src.analysis.auroc import auroc_by_text
from src.analysis.calibration import assign_bins
from src.analysis.metrics import losses

LOWER_IS_BETTER = {"ece", "nll", "brier"}


def accuracy(probabilities: np.ndarray, labels: np.ndarray) -> np.ndarray:
    return (probabilities.argmax(1) == labels).astype(np.float64)


def f1_macro(probabilities: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Mean over the classes that occur in labels or predictions, linearized at its value."""
    predicted = probabilities.argmax(1)
    by_class = []
    for c in range(probabilities.shape[1]):
        hit = (predicted == c) & (labels == c)
        either = (predicted == c).astype(np.float64) + (labels == c)
        if either.any():
            score = 2 * hit.mean() / either.mean()
            by_class.append(score + (2 * hit - score * either) / either.mean())
    return np.mean(by_class, axis=0)


def ece(probabilities: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Calibration error of the predicted class (Guo et al. 2017, equation 3)."""
    confidence = probabilities.max(1)
    gaps = confidence - accuracy(probabilities, labels)
    bins = assign_bins(confidence)
    return np.sign(np.bincount(bins, gaps))[bins] * gaps


def nll(probabilities: np.ndarray, labels: np.ndarray) -> np.ndarray:
    return losses(probabilities, labels)["nll"]


def brier(probabilities: np.ndarray, labels: np.ndarray) -> np.ndarray:
    return losses(probabilities, labels)["brier"]


SCORES: dict[str, Callable[[np.ndarray, np.ndarray], np.ndarray | None]] = {
    "acc": accuracy,
    "f1_macro": f1_macro,
    "auroc": auroc_by_text,
    "ece": ece,
    "nll": nll,
    "brier": brier,
}


def scores_by_text(probabilities: np.ndarray, labels: np.ndarray, names: Sequence[str]) -> dict[str, np.ndarray]:
    """Compute, for each score that these texts define, n numbers whose mean is the score.

    The mean of resampled numbers is the resampled score: exactly for acc, nll and brier, to first order (the
    infinitesimal jackknife, Efron 1982) for f1_macro, auroc and ece.

    Args:
        probabilities: n×C.
        labels: n.
        names: scores to compute, of SCORES.
    """
    p = probabilities.astype(np.float64).clip(0, 1)
    scores = {name: SCORES[name](p, labels) for name in names}
    return {name: values for name, values in scores.items() if values is not None}

"""Calibration: confidence bins with their accuracy, and the expected calibration error."""

from dataclasses import dataclass

import numpy as np

BINS = 15


@dataclass(frozen=True)
class Bins:
    """Texts in M bins by confidence, the probability of the predicted class.

    Bin m, counted from 0, covers [m/M, (m+1)/M); the last bin includes 1.
    """

    count: np.ndarray  # M int64, number of texts
    correct: np.ndarray  # M int64, number of texts with a correct prediction
    confidence: np.ndarray  # M, mean confidence; NaN for an empty bin


def assign_bins(confidence: np.ndarray, bins: int = BINS) -> np.ndarray:
    """Return the index of the bin of each confidence: n → n."""
    edges = np.linspace(0, 1, bins + 1)
    return (np.searchsorted(edges, confidence, side="right") - 1).clip(0, bins - 1)


def calibration_bins(probabilities: np.ndarray, labels: np.ndarray, bins: int = BINS) -> Bins:
    """Count the texts and correct predictions in each bin, and average the confidence: n×C, n → M bins."""
    confidence = probabilities.max(1).astype(np.float64)
    indices = assign_bins(confidence, bins)
    count = np.bincount(indices, minlength=bins)
    correct = np.bincount(indices[probabilities.argmax(1) == labels], minlength=bins)
    total = np.bincount(indices, confidence, minlength=bins)
    return Bins(count, correct, np.divide(total, count, out=np.full(bins, np.nan), where=count > 0))


def calibration_error(bins: Bins) -> float:
    """Return the mean of |accuracy - confidence| over bins, weighted by text count (Guo et al. 2017, equation 3)."""
    filled = bins.count > 0
    gap = np.abs(bins.correct - bins.confidence * bins.count)[filled]
    return float(gap.sum() / bins.count.sum())

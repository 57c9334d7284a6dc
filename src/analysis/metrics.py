"""Final scores of a split, each with its 95 % interval and number of examples."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.stats import binomtest

from src.analysis.bootstrap import replicates

if TYPE_CHECKING:
    from torch import Tensor

SMALLEST = float(np.finfo(np.float32).eps)  # below this a float32 probability of 1 - p is noise


class Metric(NamedTuple):
    """A score with its 95 % interval; None where the data do not define it (a class is absent, no variation)."""

    value: float | None
    low: float | None
    high: float | None
    n: int


def evaluate(
    probabilities: np.ndarray, labels: np.ndarray, class_names: Sequence[str], *, seed: int = 0
) -> dict[str, Metric]:
    """Scores of predicted probabilities against the true classes.

    - acc, and precision, recall and f1, each macro and micro; macro means exclude classes that are neither a
      true nor a predicted class of any text. Every text has one label, so that all micro scores equal accuracy.
    - auroc: of class 1 if there are two classes, otherwise the macro mean of one class against the rest.
    - ece: calibration error of the predicted class over 15 bins of equal width (Guo et al. 2017, equation 3).
    - brier: mean over texts of the squared error summed over classes (Brier 1950), 0 to 2.
    - nll: mean of -ln p(true class), in nats, with p clipped to at least 1.2e-7.

    Accuracy and the micro scores have Wilson intervals. The other scores have the 2.5th and 97.5th percentiles of 1,000
    bootstrap resamples of the texts. Resampling biases the calibration error upwards: its percentiles are reflected
    about the value, and the interval extends to 0 if the value lies within the 97.5th percentile of a perfectly
    calibrated model.

    Args:
        probabilities: n×C in [0, 1], rows summing to 1.
        labels: n integers from 0 to C-1.
        class_names: C names.

    Raises:
        ValueError: there are no rows, the shapes do not match, or a label or a probability is out of range.
    """
    probabilities, labels = _validate(probabilities, labels, len(class_names))
    n = len(labels)
    values = _compute_scores(probabilities, labels)
    correct = int((probabilities.argmax(1) == labels).sum())
    wilson = binomtest(correct, n).proportion_ci(0.95, method="wilson")
    samples = replicates(probabilities, labels, losses(probabilities, labels), np.random.default_rng(seed))
    metrics = {}
    for name, value in values.items():
        if value is None:
            metrics[name] = Metric(None, None, None, n)
        elif name in samples:
            low, high = _percentiles(samples[name])
            if name == "ece" and low is not None and high is not None:
                is_calibrated = value <= np.percentile(samples["calibrated_ece"], 97.5)
                low, high = 0.0 if is_calibrated else max(0.0, 2 * value - high), max(value, 2 * value - low)
            metrics[name] = Metric(value, low, high, n)
        else:
            metrics[name] = Metric(value, float(wilson.low), float(wilson.high), n)
    return metrics


def confusion_matrix(probabilities: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Counts C×C; rows are true classes, columns predicted classes."""
    classes = probabilities.shape[1]
    cells = labels * classes + probabilities.argmax(1)
    return np.bincount(cells, minlength=classes**2).reshape(classes, classes)


def losses(probabilities: np.ndarray, labels: np.ndarray) -> dict[str, np.ndarray]:
    """Per-text terms of the scores that are means over texts: n each."""
    rows = np.arange(len(labels))
    error = probabilities.copy()
    error[rows, labels] -= 1
    return {
        "brier": (error**2).sum(1),
        "nll": -np.log(np.maximum(probabilities[rows, labels], SMALLEST)),
    }


def _compute_scores(probabilities: np.ndarray, labels: np.ndarray) -> dict[str, float | None]:
    import torch
    from torchmetrics.functional import classification as tm

    classes = probabilities.shape[1]
    p, truth = torch.from_numpy(probabilities), torch.from_numpy(labels)
    predicted = torch.from_numpy(probabilities.argmax(1))
    values: dict[str, float | None] = {}
    values["acc"] = _rounded(tm.multiclass_accuracy(predicted, truth, classes, "micro"))
    for name, score in (
        ("precision", tm.multiclass_precision),
        ("recall", tm.multiclass_recall),
        ("f1", tm.multiclass_f1_score),
    ):
        for average in ("macro", "micro"):
            values[f"{name}_{average}"] = _rounded(score(predicted, truth, classes, average))
    if len(np.unique(labels)) < classes:
        values["auroc"] = None
    elif classes == 2:
        values["auroc"] = _rounded(tm.binary_auroc(p[:, 1], truth))
    else:
        values["auroc"] = _rounded(tm.multiclass_auroc(p, truth, classes))
    below_one = p.clamp(max=np.nextafter(1, 0))  # torchmetrics puts a confidence of 1 into a sixteenth bin
    values["ece"] = _rounded(tm.multiclass_calibration_error(below_one, truth, classes, n_bins=15))
    return values | {name: float(loss.mean()) for name, loss in losses(probabilities, labels).items()}


def _rounded(score: "Tensor") -> float:
    return round(float(score), 7)  # torchmetrics divides in float32


def _percentiles(samples: np.ndarray) -> tuple[float, float] | tuple[None, None]:
    defined = samples[~np.isnan(samples)]
    if defined.size == 0 or np.ptp(defined) < 1e-12:
        return None, None
    low, high = np.percentile(defined, (2.5, 97.5))
    return float(low), float(high)


def _validate(probabilities: np.ndarray, labels: np.ndarray, classes: int) -> tuple[np.ndarray, np.ndarray]:
    p = np.asarray(probabilities, dtype=np.float64)
    y = np.asarray(labels, dtype=np.int64)
    if p.ndim != 2 or y.shape != p.shape[:1] or p.shape[1] != classes or len(y) == 0:
        raise ValueError(
            f"probabilities {p.shape}, labels {y.shape} and {classes} class names do not match: "
            "pass arrays n×C, n and C class names, with n > 0"
        )
    if y.min() < 0 or y.max() >= classes:
        raise ValueError(f"labels range from {y.min()} to {y.max()}: they must be from 0 to {classes - 1}")
    invalid = np.flatnonzero(~((p > -1e-3) & (p < 1 + 1e-3)).all(1))  # also NaN
    if invalid.size:
        raise ValueError(f"row {invalid[0]} has the probabilities {p[invalid[0]]}: each must be in [0, 1]")
    return p.clip(0, 1), y

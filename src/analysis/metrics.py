"""Final scores of a split, each with its 95 % interval and number of texts."""

import math
from collections.abc import Sequence
from statistics import NormalDist

import numpy as np

from src.analysis.auroc import auroc
from src.analysis.calibration import calibration_bins, calibration_error
from src.analysis.resampling import confusion_scores, replicates
from src.run_result import ClassScore, Score

# lower bound of a probability in nll: smaller values are rounding errors of float32
SMALLEST = float(np.finfo(np.float32).eps)


def evaluate(
    probabilities: np.ndarray,
    labels: np.ndarray,
    class_names: Sequence[str],
    *,
    majority: int | None = None,
    seed: int = 0,
) -> dict[str, Score]:
    """Compute the scores of predicted probabilities against the true classes.

    - acc: the share of correct predictions.
    - majority_acc: the accuracy of predicting the class `majority` for every text.
    - balanced_acc: the mean recall of the classes that have texts.
    - precision_macro, recall_macro, f1_macro: means over the classes that are the true or the predicted class of at
      least one text. The micro means would equal accuracy, since every text has one label.
    - mcc: Matthews' correlation coefficient (Gorodkin 2004), -1 to 1; 0 if all texts have the same predicted class, or
      the same true class.
    - auroc: area under the ROC curve. With two classes, it is the area for class 1; otherwise it is the mean over the
      classes of the area for one class against all other classes. None if a class has no text.
    - ece: calibration error of the predicted class over 15 bins of equal width (Guo et al. 2017, equation 3).
    - brier: mean over texts of the squared error summed over classes (Brier 1950), 0 to 2.
    - nll: mean of -ln p(true class), in nats, with p clipped to at least 1.2e-7.

    acc and majority_acc have Wilson intervals. The intervals of the other scores are the 2.5th and 97.5th percentiles
    over 1,000 bootstrap resamples of the texts; the bounds are None if all resamples have the same score. Resampling
    biases the calibration error upwards. Therefore its percentiles are reflected about the value, and its interval
    extends to 0 if the value is at most the 97.5th percentile of the error of a perfectly calibrated model.

    Args:
        probabilities: n×C in [0, 1], rows summing to 1.
        labels: n integers from 0 to C-1.
        majority: index of the most frequent class of the training texts; if it is None, majority_acc is omitted.
        seed: seed of the resampling.

    Raises:
        ValueError: if there are no rows, the shapes do not match, or a label or a probability is out of range.
    """
    probabilities, labels = _validate(probabilities, labels, len(class_names))
    n = len(labels)
    correct = {"acc": int((probabilities.argmax(1) == labels).sum())}
    if majority is not None:
        correct["majority_acc"] = int((labels == majority).sum())
    samples = replicates(probabilities, labels, losses(probabilities, labels), np.random.default_rng(seed))
    metrics = {name: Score(count / n, *wilson_interval(count, n), n) for name, count in correct.items()}
    for name, value in _compute_scores(probabilities, labels).items():
        if value is None:
            metrics[name] = Score(None, None, None, n)
        else:
            low, high = _percentiles(samples[name])
            if name == "ece" and low is not None and high is not None:
                is_calibrated = value <= np.percentile(samples["calibrated_ece"], 97.5)
                low, high = 0.0 if is_calibrated else max(0.0, 2 * value - high), max(value, 2 * value - low)
            metrics[name] = Score(value, low, high, n)
    return metrics


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


def losses(probabilities: np.ndarray, labels: np.ndarray) -> dict[str, np.ndarray]:
    """Return two losses of each text, `brier` and `nll`, n each; their means are the scores with these names."""
    rows = np.arange(len(labels))
    error = probabilities.copy()
    error[rows, labels] -= 1
    return {
        "brier": (error**2).sum(1),
        "nll": -np.log(np.maximum(probabilities[rows, labels], SMALLEST)),
    }


def _compute_scores(probabilities: np.ndarray, labels: np.ndarray) -> dict[str, float | None]:
    scores = confusion_scores(confusion_matrix(probabilities, labels)[None])
    area = float(auroc(np.ones((len(labels), 1)), probabilities, labels)[0])
    return {
        **{name: float(score[0]) for name, score in scores.items()},
        "auroc": None if math.isnan(area) else area,
        "ece": calibration_error(calibration_bins(probabilities, labels)),
        **{name: float(loss.mean()) for name, loss in losses(probabilities, labels).items()},
    }


def wilson_interval(count: int, n: int) -> tuple[float, float]:
    """Return the 95 % interval of a proportion (Wilson 1927), without scipy.stats, whose import takes a second.

    Args:
        count: number of successes, 0 to n.
        n: number of trials, at least 1.
    """
    z = NormalDist().inv_cdf(0.975)
    p, extra = count / n, z**2 / n
    centre, half = p + extra / 2, z * math.sqrt(p * (1 - p) / n + extra / (4 * n))
    low, high = (centre - half) / (1 + extra), (centre + half) / (1 + extra)
    return (0.0 if count == 0 else low), (1.0 if count == n else high)


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
            "pass probabilities n×C, labels n and C class names, with n > 0"
        )
    if y.min() < 0 or y.max() >= classes:
        raise ValueError(f"labels range from {y.min()} to {y.max()}: they must be from 0 to {classes - 1}")
    invalid = np.flatnonzero(~((p > -1e-3) & (p < 1 + 1e-3)).all(1))  # NaN is also invalid
    if invalid.size:
        raise ValueError(f"row {invalid[0]} has the probabilities {p[invalid[0]]}: each must be in [0, 1]")
    return p.clip(0, 1), y

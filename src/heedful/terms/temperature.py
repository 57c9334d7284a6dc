"""Temperature scaling (Guo et al. 2017): one number makes the probabilities of a trained model fit its hits."""

import numpy as np
from scipy.special import log_softmax, softmax

from heedful.runs.run_files import Predictions

HOTTEST = 20.0  # the highest temperature; the lowest is its reciprocal


def fit_temperature(probabilities: np.ndarray, targets: np.ndarray) -> float:
    """Return the temperature T > 0 with the highest likelihood of the true classes (Guo et al. 2017, sect. 4.2).

    The probabilities become softmax(log(p) / T), which is softmax(z / T) of logits z. In β = 1 / T, the slope of the
    negative log-likelihood is the sum over texts of (the mean of log p under the new probabilities - log p of the true
    class); it only increases. Without a root between 1/20 and 20, as if all texts are classified correctly, T is 1.

    Args:
        probabilities: n×C, of texts that the model was not trained on.
        targets: n, their true classes.
    """
    from scipy.optimize import brentq  # slow

    logs = _logs(probabilities)
    true = logs[np.arange(len(targets)), targets]

    def slope(beta: float) -> float:
        return float((softmax(beta * logs, axis=1) * logs).sum() - true.sum())

    if slope(1 / HOTTEST) >= 0 or slope(HOTTEST) <= 0:
        return 1.0
    return 1 / float(brentq(slope, 1 / HOTTEST, HOTTEST, xtol=1e-12))


def rescale(probabilities: np.ndarray, factor: float) -> np.ndarray:
    """Return the probabilities softmax(log(p) / factor), n×C, of the same type."""
    return np.exp(log_softmax(_logs(probabilities) / factor, axis=1)).astype(probabilities.dtype)


def uncalibrated(predictions: Predictions) -> Predictions | None:
    """Return predictions as they were at the temperature 1; None if this is their temperature."""
    task = predictions.task
    if task.temperature == 1:
        return None
    return predictions._replace(probabilities=rescale(predictions.probabilities, 1 / task.temperature))


def _logs(probabilities: np.ndarray) -> np.ndarray:
    values = probabilities.astype(np.float64)
    return np.log(np.maximum(values, np.finfo(np.float32).tiny))

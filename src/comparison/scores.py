"""Scores, each written as the mean of one number per text, so that the same resampled texts serve all scores."""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from omegaconf import OmegaConf

from src.analysis.auroc import auroc_by_text
from src.analysis.calibration import assign_bins
from src.analysis.metrics import losses
from src.comparison.runs import FinishedRun
from src.config.metrics import default_metrics, metric_nodes
from src.config.quoting import escape_all_references
from src.errors import UserError

if TYPE_CHECKING:
    from src.analysis.added_metrics import AddedMetric

LOWER_IS_BETTER = {"ece", "nll", "brier"}


def accuracy(probabilities: np.ndarray, labels: np.ndarray) -> np.ndarray:
    return (probabilities.argmax(1) == labels).astype(np.float64)


def f1_macro(probabilities: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Return n linearized terms whose mean is macro F1 over the classes that are true or predicted for any text."""
    predicted = probabilities.argmax(1)
    by_class = []
    for c in range(probabilities.shape[1]):
        hit = (predicted == c) & (labels == c)
        either = (predicted == c).astype(np.float64) + (labels == c)
        if either.any():
            score = 2 * hit.mean() / either.mean()
            by_class.append(score + (2 * hit - score * either) / either.mean())
    return np.mean(by_class, axis=0)


def balanced_accuracy(probabilities: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Return n linearized terms whose mean is the mean recall over the classes that have texts."""
    hit = accuracy(probabilities, labels)
    recalls = [(hit[labels == c].mean(), labels == c) for c in np.unique(labels)]
    return np.mean([recall + (hit - recall) * is_true / is_true.mean() for recall, is_true in recalls], axis=0)


def mcc(probabilities: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Return n linearized terms whose mean is Matthews' correlation (Gorodkin 2004); zeros if it is undefined."""
    hit, predicted, classes = accuracy(probabilities, labels), probabilities.argmax(1), probabilities.shape[1]
    p, t = (np.bincount(values, minlength=classes) / len(labels) for values in (predicted, labels))
    covariance, spread = hit.mean() - p @ t, (1 - p @ p) * (1 - t @ t)
    if spread == 0:
        return np.zeros(len(labels))
    change = hit - hit.mean() - (p[labels] + t[predicted] - 2 * p @ t)
    widening = -2 * (p[predicted] - p @ p) / (1 - p @ p) - 2 * (t[labels] - t @ t) / (1 - t @ t)
    return (covariance + change - covariance * widening / 2) / np.sqrt(spread)


def ece(probabilities: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Return n terms whose mean is the calibration error of the predicted class (Guo et al. 2017, equation 3)."""
    confidence = probabilities.max(1)
    gaps = confidence - accuracy(probabilities, labels)
    bins = assign_bins(confidence)
    return np.sign(np.bincount(bins, gaps))[bins] * gaps


ScoreByText = Callable[[np.ndarray, np.ndarray], np.ndarray | None]
SCORES: dict[str, ScoreByText] = {
    "acc": accuracy,
    "balanced_acc": balanced_accuracy,
    "f1_macro": f1_macro,
    "mcc": mcc,
    "auroc": auroc_by_text,
    "ece": ece,
    "nll": lambda probabilities, labels: losses(probabilities, labels)["nll"],
    "brier": lambda probabilities, labels: losses(probabilities, labels)["brier"],
}


def scores_by_text(
    probabilities: np.ndarray, labels: np.ndarray, names: Sequence[str], added: Mapping[str, ScoreByText] | None = None
) -> dict[str, np.ndarray]:
    """Return, for each score that is defined on these texts, n numbers whose mean is the score.

    The mean of the numbers of resampled texts is the score of these texts: exactly for acc, nll and brier, and to first
    order (the infinitesimal jackknife, Efron 1982) for balanced_acc, f1_macro, mcc, auroc and ece. An added metric has
    one number for each group of texts, instead of n numbers.

    Args:
        probabilities: n×C.
        labels: n.
        names: scores to compute, keys of SCORES or `added`.
        added: functions of further scores, by name.
    """
    p = probabilities.astype(np.float64).clip(0, 1)
    functions = {**SCORES, **(added or {})}
    scores = {name: functions[name](p, labels) for name in names}
    return {name: values for name, values in scores.items() if values is not None}


def added_names(runs: Sequence[FinishedRun]) -> list[str]:
    """Return the names of the metrics that the runs' config group `metrics` adds to the default metrics."""
    names = dict.fromkeys(name for run in runs for name in metric_nodes(run.config))
    return [name for name in names if name not in default_metrics()]


def added_metric(runs: Sequence[FinishedRun], name: str) -> "AddedMetric":
    """Create a metric, a class of `torchmetrics.classification`, from its definition in the runs' configurations.

    Raises:
        UserError: if the runs define the metric differently, or it cannot be created.
    """
    from src import build
    from src.analysis.added_metrics import AddedMetric

    nodes = [node for run in runs if (node := metric_nodes(run.config).get(name)) is not None]
    if any(node != nodes[0] for node in nodes):
        raise UserError(f"--metric {name}: the runs define it differently; compare runs that use the same definition")
    cfg = OmegaConf.create({"metrics": {name: escape_all_references(nodes[0])}})
    return AddedMetric(build.metric(cfg, name, len(runs[0].predictions().class_names)))

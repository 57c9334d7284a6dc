"""Bootstrap resamples of texts, and their scores for percentile intervals (Efron and Tibshirani 1993, chapter 13).

A resample is represented by the count of each text, so that a sum over its texts is a sum of counts times fixed terms.
"""

from collections.abc import Iterator

import numpy as np

from src.analysis.auroc import auroc
from src.analysis.calibration import assign_bins

RESAMPLES = 1000
CELLS = 1_000_000  # maximum number of counts in memory, unless a single resample has more counts
MAX_DRAWS = 5_000_000  # maximum number of texts drawn at a time, unless a single resample has more texts


def replicates(
    probabilities: np.ndarray, labels: np.ndarray, losses: dict[str, np.ndarray], rng: np.random.Generator
) -> dict[str, np.ndarray]:
    """Compute every score for every resample; NaN if the score is undefined for a resample.

    Args:
        probabilities: n×C.
        labels: n.
        losses: the losses of each text, n each, by the name of the score that is their mean.

    Returns:
        1,000 values of each score, by name: the scores of the confusion matrix, auroc, ece, the means of the losses,
        and `calibrated_ece`, the calibration error if labels are drawn at random such that the confidences are
        perfectly calibrated (Bröcker and Smith 2007).
    """
    order = probabilities.max(1).argsort()  # makes the texts of a confidence bin adjacent
    probabilities, labels = probabilities[order], labels[order]
    n, classes = probabilities.shape
    confidence, predicted = probabilities.max(1), probabilities.argmax(1)
    table = np.bincount(labels * classes + predicted, minlength=classes**2)
    # the confusion matrix of a resample has a multinomial distribution
    scores = confusion_scores(rng.multinomial(n, table / n, RESAMPLES).reshape(-1, classes, classes))
    first = np.unique(assign_bins(confidence), return_index=True)[1]  # first text of each nonempty bin
    gaps = (confidence - (predicted == labels))[:, None]
    step = max(1, CELLS // n)
    parts: dict[str, list[np.ndarray]] = {name: [] for name in ("auroc", "ece", "calibrated_ece", *losses)}
    for start in range(0, RESAMPLES, step):
        draws = rng.integers(0, n, (n, min(step, RESAMPLES - start)))
        counts = _count(draws * draws.shape[1] + np.arange(draws.shape[1])).astype(np.float64)  # n×B
        calibrated = confidence[:, None] - (rng.random(counts.shape) < confidence[:, None])
        parts["auroc"].append(auroc(counts, probabilities, labels))
        parts["ece"].append(np.abs(np.add.reduceat(gaps * counts, first)).sum(0) / n)
        parts["calibrated_ece"].append(np.abs(np.add.reduceat(calibrated, first)).sum(0) / n)
        for name, loss in losses.items():
            parts[name].append(np.einsum("n,nb->b", loss[order], counts) / n)  # not BLAS, whose threads busy-wait
    return scores | {name: np.concatenate(part) for name, part in parts.items()}


def confusion_scores(matrices: np.ndarray) -> dict[str, np.ndarray]:
    """Return scores by name, B each, of B confusion matrices B×C×C whose rows are true classes.

    Macro precision, recall and F1 are means over the classes that are true or predicted for any text; balanced accuracy
    is the mean recall of the classes that have texts. Matthews' correlation (Gorodkin 2004) is 0 if all texts have the
    same predicted class, or the same true class.
    """
    hits = np.diagonal(matrices, axis1=1, axis2=2)  # B×C
    predicted, true = matrices.sum(1), matrices.sum(2)  # B×C
    present = (predicted + true > 0).sum(1)  # B
    per_class = {
        "precision_macro": _ratio(hits, predicted),
        "recall_macro": _ratio(hits, true),
        "f1_macro": _ratio(2 * hits, predicted + true),
    }
    macro = {name: scores.sum(1) / present for name, scores in per_class.items()}
    n, squares = true.sum(1).astype(np.float64), [(part.astype(np.float64) ** 2).sum(1) for part in (predicted, true)]
    covariance = n * hits.sum(1) - (predicted.astype(np.float64) * true).sum(1)
    spread = np.sqrt(n**2 - squares[0]) * np.sqrt(n**2 - squares[1])
    balanced = per_class["recall_macro"].sum(1) / (true > 0).sum(1)
    return {"balanced_acc": balanced, **macro, "mcc": _ratio(covariance, spread)}


def resample_counts(n: int, times: int, rng: np.random.Generator) -> Iterator[np.ndarray]:
    """Yield `times` resamples of n texts in blocks B×n of B resamples: how many times each text was drawn."""
    step = max(1, MAX_DRAWS // n)
    for start in range(0, times, step):
        draws = rng.integers(0, n, (min(step, times - start), n))
        yield _count(draws + n * np.arange(len(draws))[:, None])


def _count(cells: np.ndarray) -> np.ndarray:
    """Return how often each flat index of `cells` occurs among its values, in the shape of `cells`."""
    return np.bincount(cells.ravel(), minlength=cells.size).reshape(cells.shape)


def _ratio(part: np.ndarray, whole: np.ndarray) -> np.ndarray:
    return np.divide(part, whole, out=np.zeros(part.shape), where=whole > 0)

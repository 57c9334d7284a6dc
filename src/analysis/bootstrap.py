"""Scores of resampled texts, for percentile intervals (Efron and Tibshirani 1993, chapter 13).

A resample is a count for each text, so that a score becomes a sum of counts times something computed once.
"""

import numpy as np

from src.analysis.calibration import assign_bins

RESAMPLES = 1000
CELLS = 1_000_000  # counts held at one time


def replicates(
    probabilities: np.ndarray, labels: np.ndarray, losses: dict[str, np.ndarray], rng: np.random.Generator
) -> dict[str, np.ndarray]:
    """Values of every score under resampling, NaN where a resample does not define it.

    Args:
        probabilities: n×C.
        labels: n.
        losses: per-text losses (n each) whose mean is a score.

    Returns:
        1,000 values each of the macro scores, auroc, ece, the losses, and of luck: the ece that the same
        confidences would show by chance if they were perfectly calibrated (Bröcker and Smith 2007).
    """
    order = probabilities.max(1).argsort()  # so that each bin of confidence is one run of texts
    probabilities, labels = probabilities[order], labels[order]
    n, classes = probabilities.shape
    confidence, predicted = probabilities.max(1), probabilities.argmax(1)
    table = np.bincount(labels * classes + predicted, minlength=classes**2)
    # resampling texts and then counting cells is a multinomial draw of the cells
    scores = macro_scores(rng.multinomial(n, table / n, RESAMPLES).reshape(-1, classes, classes))
    first = np.unique(assign_bins(confidence), return_index=True)[1]  # text of each bin that is not empty
    gaps = (confidence - (predicted == labels))[:, None]
    step = max(1, CELLS // n)
    parts: dict[str, list[np.ndarray]] = {name: [] for name in ("auroc", "ece", "luck", *losses)}
    for start in range(0, RESAMPLES, step):
        counts = _draw(n, min(step, RESAMPLES - start), rng)
        lucky = confidence[:, None] - (rng.random(counts.shape) < confidence[:, None])
        parts["auroc"].append(auroc(counts, probabilities, labels))
        parts["ece"].append(np.abs(np.add.reduceat(gaps * counts, first)).sum(0) / n)
        parts["luck"].append(np.abs(np.add.reduceat(lucky, first)).sum(0) / n)
        for name, loss in losses.items():
            parts[name].append(np.einsum("n,nb->b", loss[order], counts) / n)  # no BLAS: its threads spin
    return scores | {name: np.concatenate(part) for name, part in parts.items()}


def macro_scores(tables: np.ndarray) -> dict[str, np.ndarray]:
    """Macro precision, recall and F1 of confusion tables B×C×C (true by row): B each."""
    hits = np.diagonal(tables, axis1=1, axis2=2)  # B×C
    predicted, true = tables.sum(1), tables.sum(2)  # B×C
    present = (predicted + true > 0).sum(1)  # B
    shares = {
        "precision_macro": _ratio(hits, predicted),
        "recall_macro": _ratio(hits, true),
        "f1_macro": _ratio(2 * hits, predicted + true),
    }
    return {name: share.sum(1) / present for name, share in shares.items()}


def auroc(counts: np.ndarray, probabilities: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Area under the ROC curve of weighted texts: n×B, n×C, n → B, NaN where a class has no weight.

    The share of pairs of a text of the class and a text of the rest that stand in the right order, ties
    counting half (Mann and Whitney 1947); of class 1 where there are two classes, else the mean over classes.
    """
    classes = probabilities.shape[1]
    chosen = [1] if classes == 2 else range(classes)
    return np.mean([_area(counts, probabilities[:, c], labels == c) for c in chosen], axis=0)


def _area(counts: np.ndarray, scores: np.ndarray, positive: np.ndarray) -> np.ndarray:
    ranked = np.flatnonzero(~positive)
    ranked = ranked[scores[ranked].argsort()]
    below = np.zeros((len(ranked) + 1, counts.shape[1]))
    np.cumsum(counts[ranked], axis=0, out=below[1:])
    lower = below[scores[ranked].searchsorted(scores[positive], "left")]
    upper = below[scores[ranked].searchsorted(scores[positive], "right")]
    weight = counts[positive]
    pairs = np.einsum("nb,nb->b", weight, lower + upper) / 2
    return _ratio(pairs, weight.sum(0) * below[-1], np.nan)


def _draw(n: int, times: int, rng: np.random.Generator) -> np.ndarray:
    cells = rng.integers(0, n, (n, times)) * times + np.arange(times)
    return np.bincount(cells.ravel(), minlength=n * times).reshape(n, times).astype(np.float64)


def _ratio(part: np.ndarray, whole: np.ndarray, empty: float = 0.0) -> np.ndarray:
    return np.divide(part, whole, out=np.full(part.shape, empty), where=whole > 0)

"""Area under the ROC curve for weighted texts, and the contribution of each text to the area.

The area of a class is the fraction of pairs (a text of the class, a text of another class) in which the text of the
class has the higher score; ties count half (Mann and Whitney 1947). With two classes the result is the area of class 1,
otherwise the mean over the classes.
"""

import numpy as np


def auroc(counts: np.ndarray, probabilities: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Return the AUROC for each of B weightings of the texts: counts n×B, probabilities n×C, labels n → B.

    A value is NaN if all texts of a class have weight 0.
    """
    areas = []
    for scores, positive in _one_against_the_rest(probabilities, labels):
        weight, others = counts[positive], counts[~positive]
        pairs = np.einsum("nb,nb->b", weight, _below(scores[positive], scores[~positive], others))
        total = weight.sum(0) * others.sum(0)
        areas.append(np.divide(pairs, total, out=np.full(pairs.shape, np.nan), where=total > 0))
    return np.mean(areas, axis=0)


def auroc_by_text(probabilities: np.ndarray, labels: np.ndarray) -> np.ndarray | None:
    """Return n numbers whose mean is the area, from probabilities n×C and labels n; None if a class has no text.

    The number of a text depends on the share of its pairs that are in the correct order (DeLong et al. 1988).
    """
    if len(np.unique(labels)) < probabilities.shape[1]:
        return None
    return np.mean([_by_text(*side) for side in _one_against_the_rest(probabilities, labels)], axis=0)


def _one_against_the_rest(probabilities: np.ndarray, labels: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return the scores n and the membership n bool of each class; with two classes, those of class 1 only."""
    classes = probabilities.shape[1]
    return [(probabilities[:, c], labels == c) for c in ([1] if classes == 2 else range(classes))]


def _by_text(scores: np.ndarray, positive: np.ndarray) -> np.ndarray:
    share, ordered = positive.mean(), np.empty(len(scores))
    for side in (positive, ~positive):  # the share of the other side that ranks below each text
        ordered[side] = _below(scores[side], scores[~side], np.ones((int((~side).sum()), 1)))[:, 0] / (~side).sum()
    ordered[~positive] = 1 - ordered[~positive]
    area = ordered[positive].mean()
    return area + (ordered - area) / np.where(positive, share, 1 - share)


def _below(scores: np.ndarray, others: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Return, for each of m scores, the weight of the k other texts with a lower score, plus half of the ties: m×B."""
    order = others.argsort()
    others = others[order]
    below = np.zeros((len(others) + 1, counts.shape[1]))
    np.cumsum(counts[order], axis=0, out=below[1:])
    return (below[others.searchsorted(scores, "left")] + below[others.searchsorted(scores, "right")]) / 2

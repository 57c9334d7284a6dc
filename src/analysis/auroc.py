"""Area under the ROC curve for weighted texts, and the contribution of each text to the area.

The area of a class is the fraction of pairs (a text of the class, a text of another class) in which the text of the
class has the higher score; a tie counts as one half (Mann and Whitney 1947). With two classes, the result is the area
of class 1, otherwise the mean area over the classes.
"""

import numpy as np


def auroc(counts: np.ndarray, probabilities: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Return the area for each of B weightings of the texts: counts n×B, probabilities n×C, labels n → B.

    The area is NaN if all texts of a class have weight 0.
    """
    areas = []
    for scores, positive in _one_against_the_rest(probabilities, labels):
        weights, other_weights = counts[positive], counts[~positive]
        below = _weight_below(scores[positive], scores[~positive], other_weights)
        correct = np.einsum("nb,nb->b", weights, below)  # weight of the pairs in the correct order
        total = weights.sum(0) * other_weights.sum(0)
        areas.append(np.divide(correct, total, out=np.full(correct.shape, np.nan), where=total > 0))
    return np.mean(areas, axis=0)


def auroc_by_text(probabilities: np.ndarray, labels: np.ndarray) -> np.ndarray | None:
    """Return n values whose mean is the area, from probabilities n×C and labels n; None if a class has no text.

    The value of a text depends on the fraction of the text's pairs that are in the correct order (DeLong et al. 1988).
    """
    if len(np.unique(labels)) < probabilities.shape[1]:
        return None
    return np.mean([_by_text(*side) for side in _one_against_the_rest(probabilities, labels)], axis=0)


def _one_against_the_rest(probabilities: np.ndarray, labels: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
    """For each class (only for class 1 if there are two), return its n scores and a mask of its texts, n bool."""
    classes = probabilities.shape[1]
    return [(probabilities[:, c], labels == c) for c in ([1] if classes == 2 else range(classes))]


def _by_text(scores: np.ndarray, positive: np.ndarray) -> np.ndarray:
    correct = np.empty(len(scores))  # the fraction of a text's pairs that are in the correct order
    for side in (positive, ~positive):
        others = scores[~side]
        correct[side] = _weight_below(scores[side], others, np.ones((len(others), 1)))[:, 0] / len(others)
    correct[~positive] = 1 - correct[~positive]  # a text of another class should have the lower score
    area, prevalence = correct[positive].mean(), positive.mean()
    return area + (correct - area) / np.where(positive, prevalence, 1 - prevalence)


def _weight_below(scores: np.ndarray, others: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """For each of m scores, sum the weights of lower scores among k others; ties count half: m, k, k×B → m×B."""
    order = others.argsort()
    others = others[order]
    below = np.zeros((len(others) + 1, counts.shape[1]))
    np.cumsum(counts[order], axis=0, out=below[1:])
    return (below[others.searchsorted(scores, "left")] + below[others.searchsorted(scores, "right")]) / 2

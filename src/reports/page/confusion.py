"""The confusion matrix, or the most frequent confusions if there are many classes."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

MAX_CLASSES = 12  # with more classes, the table lists the most frequent confusions
MAX_CONFUSIONS = 15


class Error(NamedTuple):
    """A pair of classes that the model confuses."""

    true: str
    predicted: str
    texts: int
    fraction: float  # share of the texts of the true class


class Confusion(NamedTuple):
    """The content of a confusion table."""

    title: str
    names: Sequence[str]
    counts: list[list[int]]  # C×C, with a row for each true class
    errors: list[Error] | None  # the pairs to show instead of the matrix; None if the matrix is shown


def confusion(counts: np.ndarray, names: Sequence[str], title: str) -> Confusion:
    """Return the content of the table for counts C×C, which have a row for each true class."""
    errors = None if len(names) <= MAX_CLASSES else _most_frequent(counts, names)
    return Confusion(title, names, counts.tolist(), errors)


def _most_frequent(counts: np.ndarray, names: Sequence[str]) -> list[Error]:
    wrong = counts * ~np.eye(len(counts), dtype=bool)
    order = np.argsort(-wrong, axis=None, kind="stable")[:MAX_CONFUSIONS]
    pairs = zip(*np.unravel_index(order, wrong.shape), strict=True)
    return [
        Error(names[true], names[predicted], count, count / int(counts[true].sum()))
        for true, predicted in pairs
        if (count := int(wrong[true, predicted]))
    ]

"""Random parts of texts that have equal shares of each class or of each label."""

from collections.abc import Sequence

import numpy as np


def draw(strata: np.ndarray, total: int, spare: int, seed: Sequence[int]) -> np.ndarray:
    """Draw `total` random rows in proportion to the sizes of the strata (largest-remainder method); return them sorted.

    Of each stratum, at least 1 row is drawn and at least `spare` rows are left. If `total` is incompatible with these
    limits, the nearest possible number of rows is drawn.
    """
    kinds, available = np.unique(strata, return_counts=True)
    most = available - spare
    total = int(np.clip(total, len(most), most.sum()))
    exact = total * available / available.sum()
    counts = np.clip(np.floor(exact).astype(np.int64), 1, most)
    while (missing := total - counts.sum()) != 0:
        step = 1 if missing > 0 else -1
        can_move = counts < most if step > 0 else counts > 1
        counts[np.where(can_move, step * (exact - counts), -np.inf).argmax()] += step
    rng = np.random.default_rng(list(seed))
    drawn = [rng.permutation(np.flatnonzero(strata == kind))[:count] for kind, count in zip(kinds, counts, strict=True)]
    return np.sort(np.concatenate(drawn))


def fold_numbers(strata: np.ndarray, folds: int, seed: Sequence[int]) -> np.ndarray:
    """Return the fold of each row; the sizes of the folds differ by at most 1, in total and in each stratum."""
    shuffled = np.random.default_rng(list(seed)).permutation(len(strata))
    numbers = np.empty(len(strata), dtype=np.int64)
    numbers[shuffled[np.argsort(strata[shuffled], kind="stable")]] = np.arange(len(strata)) % folds
    return numbers


def distribute(targets: np.ndarray, sizes: np.ndarray, wanted: np.ndarray, seed: Sequence[int]) -> np.ndarray:
    """Return the part of each text, for parts with equal shares of each label (Sechidis et al. 2011, algorithm 1).

    The texts of the label that the fewest remaining texts have come first; each goes to the part that wants most texts
    of this label and, of several such parts, has most room. Unlike there, the parts have exact sizes.

    Args:
        targets: n×C, whether a text has a label.
        sizes: P, the number of texts of each part; the sum is n.
        wanted: P×C, the number of texts with each label that each part should have.
    """
    order = np.random.default_rng(list(seed)).permutation(len(targets))
    parts, room, wanted = np.full(len(targets), -1), sizes.copy(), wanted.copy()

    def place(texts: np.ndarray, value: np.ndarray) -> None:
        for text in texts:
            part = max(np.flatnonzero(room), key=lambda part: (value[part], room[part]))
            parts[text] = part
            room[part] -= 1
            wanted[part] -= targets[text]

    remaining = targets.sum(0)
    while remaining.any():
        label = np.where(remaining, remaining, len(targets) + 1).argmin()
        texts = order[targets[order, label] & (parts[order] < 0)]
        place(texts, wanted[:, label])
        remaining = remaining - targets[texts].sum(0)
    place(order[parts[order] < 0], room)
    return parts

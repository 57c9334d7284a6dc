"""Stratified, seeded samples of rows: held-out splits, folds, and small samples of large splits.

If the rows have groups, "row (or group)" means a group, whose rows all stay in the same split.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from src.data.corpus import Corpus
from src.errors import UserError
from src.formatting import format_list

TEST_DRAW, VAL_DRAW, LIMIT_DRAW, FOLD_DRAW = range(4)  # each is the second number of a seed: draws are independent
Parts = tuple[np.ndarray, np.ndarray]  # the remaining rows and the held-out rows, both in ascending order


class Splitting(NamedTuple):
    """The options that divide the rows of a source into train, val and test."""

    val_fraction: float
    test_fraction: float
    seed: int
    limit: int | None = None
    folds: int | None = None  # number of folds of a cross-validation
    fold: int | None = None  # index of the fold that is the test split


def divide(corpus: Corpus, splitting: Splitting) -> dict[str, tuple[str, np.ndarray]]:
    """Assign rows of the source's splits to train, val and test.

    If the source has no test split, one fold or `test_fraction` of its training split is held out. If the source has no
    validation split, `val_fraction` of the remaining training rows is held out. If `limit` is set, each split is then
    reduced to a sample. If a single row (or group) of a class remains, it stays in train.

    Returns:
        For each of train, val and test: the name of the source's split that contains the rows, and the indices of the
        rows in that split, int64 in ascending order.

    Raises:
        UserError: if `folds` is set and the source has a test split, or if the rows cannot be divided or sampled.
    """
    seed, limit, folds, fold = splitting.seed, splitting.limit, splitting.folds, splitting.fold
    if folds is not None and corpus.test is not None:
        raise UserError(
            f"data.folds={folds}: the source has a test split, but each fold would be another test split: set "
            "data.folds=null data.fold=null, or use a source without a test split (data.test_path=null, "
            "data.test_split=null)"
        )
    train = np.arange(len(corpus.train.labels))
    divided: dict[str, tuple[str, np.ndarray]] = {}
    for split, fraction, draw in (
        ("test", splitting.test_fraction, TEST_DRAW),
        ("val", splitting.val_fraction, VAL_DRAW),
    ):
        if (source := getattr(corpus, split)) is not None:
            divided[split] = (split, np.arange(len(source.labels)))
            continue
        groups = None if corpus.train.groups is None else corpus.train.groups[train]
        units = Units(corpus.train.labels[train], corpus.class_names, groups)
        if split == "test" and folds is not None and fold is not None:
            remaining, held_out = units.hold_out_fold(folds, fold, (seed, FOLD_DRAW))
        else:
            remaining, held_out = units.hold_out(fraction, (seed, draw))
        train, divided[split] = train[remaining], ("train", train[held_out])
    divided["train"] = ("train", train)
    if limit is None:
        return divided
    return {
        split: (origin, rows[sample(getattr(corpus, origin).labels[rows], limit, (seed, LIMIT_DRAW))])
        for split, (origin, rows) in divided.items()
    }


class Units:
    """The indivisible units of rows: the groups, or single rows if there are no groups.

    A class with a single unit is not held out.

    Args:
        labels: n int64.
        groups: n int64; the rows of a group stay together, and the class of its first row is the class of the group.

    Raises:
        UserError: if most classes have a single unit.
    """

    def __init__(self, labels: np.ndarray, class_names: Sequence[str], groups: np.ndarray | None = None) -> None:
        first, self.of_row = np.arange(len(labels)), np.arange(len(labels))  # n, the unit of each row
        if groups is not None:
            _, first, self.of_row = np.unique(groups, return_index=True, return_inverse=True)
        self.noun = "row" if groups is None else "group"
        self.labels = labels[first]
        classes, counts = np.unique(self.labels, return_counts=True)
        single = classes[counts < 2]
        self.divisible = np.flatnonzero(~np.isin(self.labels, single))
        if 2 * len(single) > len(classes):
            names = format_list([class_names[c] for c in single])
            raise UserError(
                f"cannot split: {len(single):,} of {len(classes):,} classes ({names}) have a single {self.noun}, but "
                "most classes need one to train on and one to hold out: add rows, remove the classes, or provide each "
                "split as a file (data.val_path, data.test_path). Heed does not support regression: data.label must "
                "name a column of classes"
            )

    def hold_out(self, fraction: float, seed: Sequence[int]) -> Parts:
        """Hold out a stratified part of the units.

        Args:
            fraction: fraction of the units to hold out, in (0, 1). In each class with two or more units, at least one
                is held out and at least one remains.
        """
        total = round(fraction * len(self.labels))
        return self._parts(self.divisible[_draw(self.labels[self.divisible], total, spare=1, seed=seed)])

    def hold_out_fold(self, folds: int, fold: int, seed: Sequence[int]) -> Parts:
        """Divide the units into stratified folds, and hold out the fold with index `fold`.

        Each unit is in exactly one fold, except that a class with a single unit is in no fold. The numbers of units in
        any two folds differ by at most 1, in total and in each class.

        Args:
            seed: must be the same for all folds of a cross-validation.

        Raises:
            UserError: if `fold` is not less than `folds`, or if there are more folds than units to divide.
        """
        if fold >= folds:
            raise UserError(f"data.fold={fold}: with data.folds={folds} it must lie between 0 and {folds - 1}")
        if folds > len(self.divisible):
            raise UserError(
                f"data.folds={folds}: must be at most {len(self.divisible)}, the number of {self.noun}s to divide; 5 "
                "or 10 folds are usual"
            )
        shuffled = np.random.default_rng(list(seed)).permutation(self.divisible)
        by_class = shuffled[np.argsort(self.labels[shuffled], kind="stable")]
        return self._parts(by_class[fold::folds])

    def _parts(self, held_out: np.ndarray) -> Parts:
        is_held_out = np.isin(self.of_row, held_out)
        return np.flatnonzero(~is_held_out), np.flatnonzero(is_held_out)


def sample(labels: np.ndarray, count: int, seed: Sequence[int]) -> np.ndarray:
    """Return a stratified sample of at most `count` rows, in ascending order, with at least one row of each class.

    Raises:
        UserError: if `count` is smaller than the number of classes.
    """
    if count >= len(labels):
        return np.arange(len(labels))
    classes = len(np.unique(labels))
    if count < classes:
        raise UserError(f"data.limit={count}: must be at least {classes}, one row for each of the {classes} classes")
    return _draw(labels, count, spare=0, seed=seed)


def _draw(labels: np.ndarray, total: int, spare: int, seed: Sequence[int]) -> np.ndarray:
    """Draw `total` random rows in proportion to the sizes of the classes (largest-remainder method).

    Of each class, at least 1 row is drawn and at least `spare` rows are left. If `total` is incompatible with these
    limits, the nearest possible number of rows is drawn.
    """
    classes, available = np.unique(labels, return_counts=True)
    most = available - spare
    total = int(np.clip(total, len(most), most.sum()))
    exact = total * available / available.sum()
    counts = np.clip(np.floor(exact).astype(np.int64), 1, most)
    while (missing := total - counts.sum()) != 0:
        step = 1 if missing > 0 else -1
        can_move = counts < most if step > 0 else counts > 1
        counts[np.where(can_move, step * (exact - counts), -np.inf).argmax()] += step
    rng = np.random.default_rng(list(seed))
    drawn = [rng.permutation(np.flatnonzero(labels == c))[:count] for c, count in zip(classes, counts, strict=True)]
    return np.sort(np.concatenate(drawn))

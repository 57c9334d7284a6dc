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
    val_fraction, test_fraction, seed, limit, folds, fold = splitting
    if folds is not None and corpus.test is not None:
        raise UserError(
            f"data.folds={folds}: the source has a test split, but each fold would be another test split: set "
            "data.folds=null data.fold=null, or use a source without a test split (data.test_path=null, "
            "data.test_split=null)"
        )
    train = np.arange(len(corpus.train.labels))
    divided: dict[str, tuple[str, np.ndarray]] = {}
    for split, source, fraction, draw in (
        ("test", corpus.test, test_fraction, TEST_DRAW),
        ("val", corpus.val, val_fraction, VAL_DRAW),
    ):
        if source is not None:
            divided[split] = (split, np.arange(len(source.labels)))
            continue
        groups = None if corpus.train.groups is None else corpus.train.groups[train]
        labels, names = corpus.train.labels[train], corpus.class_names
        if split == "test" and folds is not None and fold is not None:
            remaining, held_out = hold_out_fold(labels, folds, fold, (seed, FOLD_DRAW), names, groups)
        else:
            remaining, held_out = hold_out(labels, fraction, (seed, draw), names, groups)
        train, divided[split] = train[remaining], ("train", train[held_out])
    divided["train"] = ("train", train)
    if limit is None:
        return divided
    return {
        split: (origin, rows[sample(getattr(corpus, origin).labels[rows], limit, (seed, LIMIT_DRAW))])
        for split, (origin, rows) in divided.items()
    }


def hold_out(
    labels: np.ndarray,
    fraction: float,
    seed: Sequence[int],
    class_names: Sequence[str],
    groups: np.ndarray | None = None,
) -> Parts:
    """Hold out a stratified part of the rows; a class with a single row (or group) is not held out.

    Args:
        labels: n int64.
        fraction: fraction of the rows (or groups) to hold out, in (0, 1). In each class with two or more
            rows (or groups), at least one is held out and at least one remains.
        groups: n int64; the rows of a group stay together, and the class of its first row is the class of the group.

    Raises:
        UserError: if most classes have a single row (or group).
    """
    units = _units(labels, class_names, groups)
    total = round(fraction * len(units.labels))
    drawn = units.divisible[_draw(units.labels[units.divisible], total, spare=1, seed=seed)]
    return units.hold_out(drawn)


def hold_out_fold(
    labels: np.ndarray,
    folds: int,
    fold: int,
    seed: Sequence[int],
    class_names: Sequence[str],
    groups: np.ndarray | None = None,
) -> Parts:
    """Divide the rows into stratified folds, and hold out one fold; other arguments are as for `hold_out`.

    Each row is in exactly one fold, except that a class with a single row (or group) is in no fold. The numbers of rows
    (or groups) in any two folds differ by at most 1, in total and in each class.

    Args:
        fold: index of the fold to hold out.
        seed: must be the same for all folds of a cross-validation.

    Raises:
        UserError: if `fold` is not less than `folds`, if most classes have a single row (or group), or if there are
            more folds than rows (or groups) in the classes that have two or more rows (or groups).
    """
    if fold >= folds:
        raise UserError(f"data.fold={fold}: with data.folds={folds} it must lie between 0 and {folds - 1}")
    units = _units(labels, class_names, groups)
    if folds > len(units.divisible):
        raise UserError(
            f"data.folds={folds}: must be at most {len(units.divisible)}, the number of "
            f"{'rows' if groups is None else 'groups'} to divide; 5 or 10 folds are usual"
        )
    shuffled = np.random.default_rng(list(seed)).permutation(units.divisible)
    by_class = shuffled[np.argsort(units.labels[shuffled], kind="stable")]
    return units.hold_out(by_class[fold::folds])


class _Units(NamedTuple):
    """The indivisible units: the groups, or single rows if there are no groups."""

    labels: np.ndarray  # m int64
    of_row: np.ndarray  # n int64, the unit of each row
    divisible: np.ndarray  # indices of the units of the classes that have two or more units

    def hold_out(self, units: np.ndarray) -> Parts:
        is_held_out = np.isin(self.of_row, units)
        return np.flatnonzero(~is_held_out), np.flatnonzero(is_held_out)


def _units(labels: np.ndarray, class_names: Sequence[str], groups: np.ndarray | None) -> _Units:
    """Return the units; raise a UserError if most classes have a single unit."""
    first, unit = np.arange(len(labels)), np.arange(len(labels))
    if groups is not None:
        _, first, unit = np.unique(groups, return_index=True, return_inverse=True)
    classes, counts = np.unique(labels[first], return_counts=True)
    single = classes[counts < 2]
    if 2 * len(single) > len(classes):
        names = format_list([class_names[c] for c in single])
        raise UserError(
            f"cannot split: {len(single):,} of {len(classes):,} classes ({names}) have a single "
            f"{'row' if groups is None else 'group'}, but most classes need one to train on and one to hold out: add "
            "rows, remove the classes, or provide each split as a file (data.val_path, data.test_path). Heed does not "
            "support regression: data.label must name a column of classes"
        )
    return _Units(labels[first], unit, np.flatnonzero(~np.isin(labels[first], single)))


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

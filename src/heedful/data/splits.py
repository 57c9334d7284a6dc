"""Stratified, seeded samples of rows: held-out splits, folds, and small samples of large splits.

If the rows have groups, "row (or group)" means a group, whose rows all stay in the same split.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from heedful.base.errors import UserError, name_file
from heedful.base.formatting import format_list
from heedful.data.corpus import Corpus, Split
from heedful.tasks.task import Task

TEST_DRAW, VAL_DRAW, LIMIT_DRAW, FOLD_DRAW = range(4)  # each is the second number of a seed: draws are independent


class Splitting(NamedTuple):
    """The options that divide the rows of a source into train, val and test."""

    val_fraction: float
    test_fraction: float
    seed: int
    limit: int | None = None
    folds: int | None = None  # number of folds of a cross-validation
    fold: int | None = None  # index of the fold that is the test split
    train_limit: int | None = None  # maximum number of training texts


def distinct_rows(corpus: Corpus) -> np.ndarray:
    """Return the first row of each text of the source's training split that is in none of its other splits, ascending.

    It is the first with a weight above 0, if the text has one. If held-out rows are among these rows, no text is in two
    of the splits that are divided.
    """
    assert corpus.train is not None and corpus.train.digests is not None
    digests, weights = corpus.train.digests, corpus.train.weights
    order = np.arange(len(digests)) if weights is None else np.argsort(weights == 0, kind="stable")
    rows = np.sort(order[np.unique(digests[order], return_index=True)[1]])
    for split in (corpus.val, corpus.test):
        if split is not None and split.digests is not None:
            rows = rows[~np.isin(digests[rows], split.digests)]
    if len(np.unique(corpus.train.labels[rows], axis=0)) < 2:
        raise UserError(
            f"data.duplicates=drop: {len(rows):,} different texts of one class are left for training, or none: the "
            "others repeat a text, or are in the validation or test file; set data.duplicates=null, or other files"
        )
    return rows


def divide(corpus: Corpus, splitting: Splitting, rows: np.ndarray | None = None) -> dict[str, tuple[str, np.ndarray]]:
    """Assign rows of the source's splits to train, val and test.

    If the source has no test split, one fold or `test_fraction` of its training split is held out; with 0, there is no
    test split. If the source has no validation split, `val_fraction` of the remaining training rows is held out;
    with 0, there is none.
    Without a training split, nothing is held out. If `limit` is set, each split is then reduced to a sample. If a
    single row (or group) of a class remains, it stays in train. At last, training rows of weight 0 are left out.

    Args:
        rows: the rows of the source's training split to use, ascending; None means all.

    Returns:
        For each of train, val and test, if there is one: the name of the source's split that contains the rows, and the
        indices of the rows in that split, int64 in ascending order.
    """
    seed, limit, folds = splitting.seed, splitting.limit, splitting.folds
    if folds is not None and corpus.test is not None:
        raise UserError(
            f"data.folds={folds}: the source has a test split, but each fold would be another test split: set "
            "data.folds=null data.fold=null, or use a source without a test split (data.test_path=null, "
            "data.test_split=null)"
        )
    if rows is None:
        rows = np.arange(0 if corpus.train is None else len(corpus.train.labels))
    train = rows
    divided: dict[str, tuple[str, np.ndarray]] = {}
    for split in ("test", "val"):
        if (source := getattr(corpus, split)) is not None:
            divided[split] = (split, np.arange(len(source.labels)))
        elif corpus.train is not None and (
            splitting.val_fraction > 0 if split == "val" else splitting.test_fraction > 0 or folds is not None
        ):
            is_held_out = _held_out(corpus.train, train, corpus.task, split, splitting)
            divided[split], train = ("train", train[is_held_out]), train[~is_held_out]
    if corpus.train is not None:
        if corpus.train.weights is not None:
            train = train[corpus.train.weights[train] > 0]
            if len(np.unique(corpus.train.labels[train], axis=0)) < 2:
                raise UserError(
                    "data.weight: the training rows with a weight above 0 have one class, or there are none: correct "
                    "the weights, or set data.weight=null"
                )
        divided["train"] = ("train", train)
    for split, (origin, rows) in divided.items():
        sizes = {"data.limit": limit, "data.train_limit": splitting.train_limit if split == "train" else None}
        if most := {option: size for option, size in sizes.items() if size is not None}:
            option = min(most, key=most.__getitem__)
            with name_file(f"{option}={most[option]}"):
                labels = getattr(corpus, origin).labels[rows]
                divided[split] = (origin, rows[sample(corpus.task, labels, most[option], (seed, LIMIT_DRAW))])
    return divided


def _held_out(train: Split, rows: np.ndarray, task: Task, split: str, options: Splitting) -> np.ndarray:
    """Return whether each of these rows of the training split is held out for `split`, "test" or "val".

    Units, which are single rows or groups, are held out; the class of a group is that of its first row. A class with a
    single unit is not held out.
    """
    noun, first, unit_of_row = "row", np.arange(len(rows)), np.arange(len(rows))
    if train.groups is not None:
        noun = "group"
        _, first, unit_of_row = np.unique(train.groups[rows], return_index=True, return_inverse=True)
    labels = train.labels[rows][first]
    strata = task.strata(labels)
    kinds, places, counts = np.unique(strata, return_index=True, return_counts=True)
    single = kinds[counts < 2]
    if 2 * len(single) > len(kinds):
        names = format_list(task.decode(labels[places[counts < 2]]))
        rest = " beside those held out for the test" if len(rows) < len(train.labels) else ""
        raise UserError(
            f"cannot split: {len(single):,} of {len(kinds):,} classes ({names}) have a single {noun}{rest}, but most "
            "need one to train on and one to hold out: add rows, or provide each split as a file (data.val_path, "
            "data.test_path). If the labels are numbers to predict, set task=regression"
        )
    units = np.flatnonzero(~np.isin(strata, single))
    if split == "test" and options.folds is not None and options.fold is not None:
        if options.fold >= (folds := options.folds):
            raise UserError(f"data.fold={options.fold}: with data.folds={folds} it must lie between 0 and {folds - 1}")
        if folds > len(units):
            raise UserError(
                f"data.folds={folds}: must be at most {len(units)}, the number of {noun}s to divide; 5 or 10 are usual"
            )
        units = units[task.folds(labels[units], folds, (options.seed, FOLD_DRAW)) == options.fold]
    else:
        fraction, draw = (options.test_fraction, TEST_DRAW) if split == "test" else (options.val_fraction, VAL_DRAW)
        units = units[task.draw(labels[units], round(fraction * len(strata)), spare=1, seed=(options.seed, draw))]
    return np.isin(unit_of_row, units)


def sample(task: Task, labels: np.ndarray, count: int, seed: Sequence[int]) -> np.ndarray:
    """Return a stratified sample of at most `count` rows, in ascending order, with at least one row of each class."""
    if count >= len(labels):
        return np.arange(len(labels))
    classes = len(np.unique(task.strata(labels)))
    if count < classes:
        raise UserError(f"must be at least {classes}, one row for each of the {classes} classes")
    return task.draw(labels, count, spare=0, seed=seed)

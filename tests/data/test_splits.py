"""Held-out splits and stratified samples."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from src.data.corpus import Corpus, Split
from src.data.splits import Splitting, Units, divide, sample
from src.errors import UserError

NAMES = ("bad", "fair", "good")


def counts(labels: np.ndarray) -> list[int]:
    return np.bincount(labels, minlength=3).tolist()


def split(*per_class: int, groups: np.ndarray | None = None) -> Split:
    labels = np.repeat(np.arange(len(per_class)), per_class)
    return Split([f"text {i}" for i in range(len(labels))], labels, groups)


def test_each_class_is_held_out_in_proportion() -> None:
    labels = split(50, 30, 20).labels  # sorted by label, as IMDb is
    remaining, held_out = Units(labels, NAMES).hold_out(0.1, (0,))
    assert counts(labels[held_out]) == [5, 3, 2]
    assert counts(labels[remaining]) == [45, 27, 18]


def test_a_rare_class_is_on_both_sides() -> None:
    labels = split(95, 2, 3).labels
    remaining, held_out = Units(labels, NAMES).hold_out(0.05, (0,))
    assert counts(labels[held_out]) == [3, 1, 1]  # 5 in total: at least one of each class
    assert min(counts(labels[remaining])) >= 1


def test_the_held_out_rows_depend_on_the_seed_only() -> None:
    labels = split(41, 31, 29).labels
    first, repeated, other = (Units(labels, NAMES).hold_out(0.3, (seed,))[1] for seed in (7, 7, 8))
    assert first.tolist() == repeated.tolist()
    assert first.tolist() != other.tolist()


def test_a_class_with_a_single_row_stays_in_the_training_split() -> None:
    labels = split(50, 1, 2, 50).labels
    divided = divide(Corpus(split(50, 1, 2, 50), None, None, tuple("abcd")), Splitting(0.1, 0.2, 0))
    per_class = {name: np.bincount(labels[rows]).tolist() for name, (_, rows) in divided.items()}
    assert per_class == {"train": [36, 1, 1, 36], "val": [4, 0, 0, 4], "test": [10, 0, 1, 10]}


def test_labels_are_refused_if_most_classes_have_a_single_row() -> None:
    with pytest.raises(
        UserError, match=r"2 of 3 classes \('fair', 'good'\) have a single row, but .* not support regression"
    ):
        Units(split(5, 1, 1).labels, NAMES).hold_out(0.2, (0,))


@given(
    per_class=st.lists(st.integers(2, 40), min_size=2, max_size=3),
    fraction=st.floats(0.01, 0.99),
    seed=st.integers(0, 99),
)
def test_both_sides_together_are_all_rows(per_class: list[int], fraction: float, seed: int) -> None:
    labels = split(*per_class).labels
    remaining, held_out = Units(labels, NAMES).hold_out(fraction, (seed,))
    assert sorted([*remaining, *held_out]) == list(range(len(labels)))
    assert set(labels[remaining]) == set(labels[held_out]) == set(range(len(per_class)))
    nearest = np.clip(round(fraction * len(labels)), len(per_class), len(labels) - len(per_class))
    assert len(held_out) == nearest


def test_groups_stay_together() -> None:
    groups = np.repeat(np.arange(20), 7)
    labels = (groups % 2).astype(np.int64)
    remaining, held_out = Units(labels, NAMES, groups).hold_out(0.25, (3,))
    assert not set(groups[remaining]) & set(groups[held_out])
    assert len(held_out) == 5 * 7


def test_the_class_of_a_group_is_that_of_its_first_row() -> None:
    groups = np.array([5, 5, 3, 3, 9, 9, 1, 1])  # not sorted
    labels = np.array([0, 1, 1, 0, 0, 1, 1, 0])
    _, held_out = Units(labels, NAMES, groups).hold_out(0.5, (0,))
    assert sorted(labels[held_out][::2]) == [0, 1]


def test_a_sample_is_stratified_and_bounded() -> None:
    labels = split(60, 30, 10).labels
    assert counts(labels[sample(labels, 10, (0,))]) == [6, 3, 1]
    assert len(sample(labels, 1000, (0,))) == 100


def test_a_sample_smaller_than_the_classes_is_an_error() -> None:
    with pytest.raises(UserError, match=r"data\.limit=2.*3"):
        sample(split(5, 5, 5).labels, 2, (0,))


def test_divide_holds_out_the_splits_that_the_source_lacks() -> None:
    divided = divide(Corpus(split(50, 50), None, None, NAMES[:2]), Splitting(0.1, 0.2, 0))
    assert {name: (origin, len(rows)) for name, (origin, rows) in divided.items()} == {
        "train": ("train", 72),
        "val": ("train", 8),
        "test": ("train", 20),
    }
    all_rows = np.concatenate([rows for _, rows in divided.values()])
    assert sorted(all_rows) == list(range(100))


@given(
    per_class=st.lists(st.integers(2, 40), min_size=2, max_size=3),
    folds=st.integers(2, 7),
    seed=st.integers(0, 99),
)
def test_folds_are_disjoint_complete_and_stratified(per_class: list[int], folds: int, seed: int) -> None:
    folds = min(folds, sum(per_class))
    labels = split(*per_class).labels
    sides = [Units(labels, NAMES).hold_out_fold(folds, fold, (seed,)) for fold in range(folds)]
    assert sorted(row for _, held_out in sides for row in held_out) == list(range(len(labels)))
    assert all(sorted([*remaining, *held_out]) == list(range(len(labels))) for remaining, held_out in sides)
    by_class = np.array([counts(labels[held_out]) for _, held_out in sides])
    assert (np.ptp(by_class, axis=0) <= 1).all() and np.ptp(by_class.sum(1)) <= 1


def test_groups_stay_in_one_fold() -> None:
    groups = np.repeat(np.arange(20), 7)
    labels = (groups % 2).astype(np.int64)
    sides = [Units(labels, NAMES, groups).hold_out_fold(5, fold, (3,))[1] for fold in range(5)]
    assert [len(set(groups[held_out])) for held_out in sides] == [4] * 5
    assert [len(held_out) for held_out in sides] == [4 * 7] * 5


def test_a_class_with_a_single_row_is_in_no_fold() -> None:
    labels = split(5, 1, 6).labels
    held_out = [row for fold in range(3) for row in Units(labels, NAMES).hold_out_fold(3, fold, (0,))[1]]
    assert sorted(held_out) == [0, 1, 2, 3, 4, *range(6, 12)]


def test_more_folds_than_rows_are_refused() -> None:
    assert len(Units(split(3, 4).labels, NAMES).hold_out_fold(7, 6, (0,))[1]) == 1
    with pytest.raises(UserError, match=r"data\.folds=8: must be at most 7, the number of rows"):
        Units(split(3, 4).labels, NAMES).hold_out_fold(8, 0, (0,))
    with pytest.raises(UserError, match=r"data\.fold=3: with data\.folds=3 it must lie between 0 and 2"):
        Units(split(3, 4).labels, NAMES).hold_out_fold(3, 3, (0,))


def test_folds_replace_the_test_split() -> None:
    splitting = Splitting(0.25, 0.2, 0, folds=5, fold=2)
    divided = divide(Corpus(split(25, 25), None, None, NAMES[:2]), splitting)
    assert {name: (origin, len(rows)) for name, (origin, rows) in divided.items()} == {
        "train": ("train", 30),
        "val": ("train", 10),
        "test": ("train", 10),
    }
    with pytest.raises(UserError, match=r"data\.folds=5: the source has a test split"):
        divide(Corpus(split(25, 25), None, split(3, 4), NAMES[:2]), splitting)

"""Held-out splits and stratified samples."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from heedful.base.errors import UserError
from heedful.data.corpus import Corpus, Split
from heedful.data.splits import Splitting, divide, sample
from heedful.tasks.multiclass import Multiclass

NAMES = ("bad", "fair", "good")


def counts(labels: np.ndarray) -> list[int]:
    return np.bincount(labels, minlength=3).tolist()


def repeat(*per_class: int) -> np.ndarray:
    """Labels sorted by class, as in IMDb."""
    return np.repeat(np.arange(len(per_class)), per_class)


def hold_out(
    labels: np.ndarray, fraction: float = 0.2, seed: int = 0, groups: Any = None, **options: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return the remaining and the held-out rows of a source with a validation split."""
    texts: Any = [f"text {i}" for i in range(len(labels))]
    corpus = Corpus(Split(texts, labels, groups), Split(texts, labels), None, Multiclass(NAMES))
    divided = divide(corpus, Splitting(0.5, fraction, seed, **options))
    assert divided["val"][0] == "val"
    return divided["train"][1], divided["test"][1]


def test_a_class_with_a_single_row_stays_in_the_training_split() -> None:
    labels = repeat(50, 1, 2, 50)
    divided = divide(Corpus(Split([""] * 103, labels), None, None, Multiclass(tuple("abcd"))), Splitting(0.1, 0.2, 0))  # type: ignore[arg-type]
    per_class = {name: np.bincount(labels[rows]).tolist() for name, (_, rows) in divided.items()}
    assert per_class == {"train": [36, 1, 1, 36], "val": [4, 0, 0, 4], "test": [10, 0, 1, 10]}
    assert sorted(np.concatenate([rows for _, rows in divided.values()])) == list(range(103))


def test_without_a_test_fraction_there_is_no_test_split() -> None:
    corpus = Corpus(Split([""] * 20, repeat(10, 10)), None, None, Multiclass(tuple("ab")))  # type: ignore[arg-type]
    divided = divide(corpus, Splitting(0.1, 0.0, 0))
    assert {name: len(rows) for name, (_, rows) in divided.items()} == {"train": 18, "val": 2}
    assert "test" in divide(corpus, Splitting(0.1, 0.0, 0, folds=5, fold=0))


def test_labels_are_refused_if_most_classes_have_a_single_row() -> None:
    message = r"2 of 3 classes \('fair', 'good'\) have a single row, but .* set task=regression"
    with pytest.raises(UserError, match=message):
        hold_out(repeat(5, 1, 1))
    corpus = Corpus(Split([""] * 9, repeat(5, 2, 2)), None, None, Multiclass(tuple("abc")))  # type: ignore[arg-type]
    with pytest.raises(UserError, match=r"have a single row beside those held out for the test"):
        divide(corpus, Splitting(0.3, 0.5, 0))


@pytest.mark.parametrize("option", ["limit", "train_limit"])
def test_a_limit_below_the_number_of_classes_names_its_option(option: str) -> None:
    corpus = Corpus(Split([""] * 9, repeat(5, 4)), None, None, Multiclass(tuple("ab")))  # type: ignore[arg-type]
    with pytest.raises(UserError, match=rf"data\.{option}=1: must be at least 2, one row"):
        divide(corpus, Splitting(0.1, 0.1, 0)._replace(**{option: 1}))


@given(
    per_class=st.lists(st.integers(2, 40), min_size=2, max_size=3),
    fraction=st.floats(0.01, 0.99),
    seed=st.integers(0, 99),
)
def test_both_sides_together_are_all_rows(per_class: list[int], fraction: float, seed: int) -> None:
    labels = repeat(*per_class)
    remaining, held_out = hold_out(labels, fraction, seed)
    assert sorted([*remaining, *held_out]) == list(range(len(labels)))
    assert set(labels[remaining]) == set(labels[held_out]) == set(range(len(per_class)))
    nearest = np.clip(round(fraction * len(labels)), len(per_class), len(labels) - len(per_class))
    assert len(held_out) == nearest


GROUPS = np.repeat(np.arange(20), 7)


def test_groups_stay_together() -> None:
    remaining, held_out = hold_out(GROUPS % 2, 0.25, 3, GROUPS)
    assert not set(GROUPS[remaining]) & set(GROUPS[held_out])
    assert len(held_out) == 5 * 7


def test_the_class_of_a_group_is_that_of_its_first_row() -> None:
    groups = np.array([5, 5, 3, 3, 9, 9, 1, 1])  # not sorted
    labels = np.array([0, 1, 1, 0, 0, 1, 1, 0])
    _, held_out = hold_out(labels, 0.5, groups=groups)
    assert sorted(labels[held_out][::2]) == [0, 1]


def test_a_sample_is_stratified_and_bounded() -> None:
    labels = repeat(60, 30, 10)
    task = Multiclass(NAMES)
    assert counts(labels[sample(task, labels, 10, (0,))]) == [6, 3, 1]
    assert len(sample(task, labels, 1000, (0,))) == 100


@given(per_class=st.lists(st.integers(2, 40), min_size=2, max_size=3), folds=st.integers(2, 7), seed=st.integers(0, 99))
def test_folds_are_disjoint_complete_and_stratified(per_class: list[int], folds: int, seed: int) -> None:
    folds = min(folds, sum(per_class))
    labels = repeat(*per_class)
    sides = [hold_out(labels, seed=seed, folds=folds, fold=fold) for fold in range(folds)]
    assert sorted(row for _, held_out in sides for row in held_out) == list(range(len(labels)))
    assert all(sorted([*remaining, *held_out]) == list(range(len(labels))) for remaining, held_out in sides)
    by_class = np.array([counts(labels[held_out]) for _, held_out in sides])
    assert (np.ptp(by_class, axis=0) <= 1).all() and np.ptp(by_class.sum(1)) <= 1


def test_groups_stay_in_one_fold() -> None:
    sides = [hold_out(GROUPS % 2, groups=GROUPS, folds=5, fold=fold)[1] for fold in range(5)]
    assert [len(set(GROUPS[held_out])) for held_out in sides] == [4] * 5
    assert [len(held_out) for held_out in sides] == [4 * 7] * 5


def test_the_seed_changes_the_folds() -> None:
    first, again, other = (hold_out(repeat(40, 30), seed=seed, folds=5, fold=1)[1].tolist() for seed in (1, 1, 2))
    assert first == again != other


def test_a_class_with_a_single_row_is_in_no_fold() -> None:
    held_out = [row for fold in range(3) for row in hold_out(repeat(5, 1, 6), folds=3, fold=fold)[1]]
    assert sorted(held_out) == [0, 1, 2, 3, 4, *range(6, 12)]


def test_more_folds_than_rows_are_refused() -> None:
    assert len(hold_out(repeat(3, 4), folds=7, fold=6)[1]) == 1
    with pytest.raises(UserError, match=r"data\.folds=8: must be at most 7, the number of rows"):
        hold_out(repeat(3, 4), folds=8, fold=0)
    with pytest.raises(UserError, match=r"data\.fold=3: with data\.folds=3 it must lie between 0 and 2"):
        hold_out(repeat(3, 4), folds=3, fold=3)


def test_folds_replace_the_test_split() -> None:
    train, test = (Split([""] * len(labels), labels) for labels in (repeat(25, 25), repeat(3, 4)))  # type: ignore[arg-type]
    splitting = Splitting(0.25, 0.2, 0, folds=5, fold=2)
    divided = divide(Corpus(train, None, None, Multiclass(NAMES[:2])), splitting)
    sizes = {name: (origin, len(rows)) for name, (origin, rows) in divided.items()}
    assert sizes == {"train": ("train", 30), "val": ("train", 10), "test": ("train", 10)}
    with pytest.raises(UserError, match=r"data\.folds=5: the source has a test split"):
        divide(Corpus(train, None, test, Multiclass(NAMES[:2])), splitting)

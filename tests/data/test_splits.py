"""What is held out, and what a sample keeps."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from src.data.corpus import Corpus, Split
from src.data.splits import divide, hold_out, sample
from src.errors import UserError

NAMES = ("bad", "fair", "good")


def counts(labels: np.ndarray) -> list[int]:
    return np.bincount(labels, minlength=3).tolist()


def split(*per_class: int, groups: np.ndarray | None = None) -> Split:
    labels = np.repeat(np.arange(len(per_class)), per_class)
    return Split([f"text {i}" for i in range(len(labels))], labels, groups)


def test_each_class_is_held_out_in_proportion() -> None:
    labels = split(50, 30, 20).labels  # sorted by label, as IMDb is
    kept, held = hold_out(labels, 0.1, (0,), NAMES)
    assert counts(labels[held]) == [5, 3, 2]
    assert counts(labels[kept]) == [45, 27, 18]


def test_a_rare_class_stands_on_both_sides() -> None:
    labels = split(95, 2, 3).labels
    kept, held = hold_out(labels, 0.05, (0,), NAMES)
    assert counts(labels[held]) == [3, 1, 1]  # 5 in all, of which the rare ones get their one
    assert min(counts(labels[kept])) >= 1


def test_the_seed_alone_decides_the_draw() -> None:
    labels = split(41, 31, 29).labels
    first, again, other = (hold_out(labels, 0.3, (seed,), NAMES)[1] for seed in (7, 7, 8))
    assert first.tolist() == again.tolist()
    assert first.tolist() != other.tolist()


def test_a_single_row_of_a_class_is_named() -> None:
    with pytest.raises(UserError, match=r"class 'fair' has a single row"):
        hold_out(split(5, 1, 5).labels, 0.2, (0,), NAMES)


@given(
    per_class=st.lists(st.integers(2, 40), min_size=2, max_size=3),
    fraction=st.floats(0.01, 0.99),
    seed=st.integers(0, 99),
)
def test_holding_out_parts_the_rows(per_class: list[int], fraction: float, seed: int) -> None:
    labels = split(*per_class).labels
    kept, held = hold_out(labels, fraction, (seed,), NAMES)
    assert sorted([*kept, *held]) == list(range(len(labels)))
    assert set(labels[kept]) == set(labels[held]) == set(range(len(per_class)))
    nearest = np.clip(round(fraction * len(labels)), len(per_class), len(labels) - len(per_class))
    assert len(held) == nearest


def test_groups_are_never_parted() -> None:
    groups = np.repeat(np.arange(20), 7)
    labels = (groups % 2).astype(np.int64)
    kept, held = hold_out(labels, 0.25, (3,), NAMES, groups)
    assert not set(groups[kept]) & set(groups[held])
    assert len(held) == 5 * 7


def test_a_group_counts_as_the_class_of_its_first_row() -> None:
    groups = np.array([5, 5, 3, 3, 9, 9, 1, 1])  # in no order
    labels = np.array([0, 1, 1, 0, 0, 1, 1, 0])
    _, held = hold_out(labels, 0.5, (0,), NAMES, groups)
    assert sorted(labels[held][::2]) == [0, 1]


def test_a_sample_is_stratified_and_bounded() -> None:
    labels = split(60, 30, 10).labels
    assert counts(labels[sample(labels, 10, (0,))]) == [6, 3, 1]
    assert len(sample(labels, 1000, (0,))) == 100


def test_a_sample_smaller_than_the_classes_is_an_error() -> None:
    with pytest.raises(UserError, match=r"data\.limit=2.*3"):
        sample(split(5, 5, 5).labels, 2, (0,))


def test_divide_holds_out_what_the_source_lacks() -> None:
    chosen = divide(Corpus(split(50, 50), None, None, NAMES[:2]), 0.1, 0.2, 0, None)
    assert {part: (origin, len(rows)) for part, (origin, rows) in chosen.items()} == {
        "train": ("train", 72),
        "val": ("train", 8),
        "test": ("train", 20),
    }
    together = np.concatenate([rows for _, rows in chosen.values()])
    assert sorted(together) == list(range(100))


def test_divide_keeps_the_splits_a_source_has() -> None:
    chosen = divide(Corpus(split(9, 8), split(5, 5), split(3, 4), NAMES[:2]), 0.1, 0.2, 0, None)
    assert {part: (origin, len(rows)) for part, (origin, rows) in chosen.items()} == {
        "train": ("train", 17),
        "val": ("val", 10),
        "test": ("test", 7),
    }


def test_limit_samples_every_split() -> None:
    chosen = divide(Corpus(split(90, 10), None, split(50, 50), NAMES[:2]), 0.2, 0.2, 0, 10)
    assert {part: len(rows) for part, (_, rows) in chosen.items()} == {"train": 10, "val": 10, "test": 10}
    rows = chosen["train"][1]
    assert counts(split(90, 10).labels[rows])[:2] == [9, 1]

"""Plans: the rows of each batch and the order of batches."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from heedful.data.padded_batches import Plan, by_length, shuffled

LENGTHS = np.random.default_rng(0).integers(0, 500, 1009)


def plan(seed: int = 0, epoch: int = 0, buckets: bool = True, batch_size: int = 7) -> Plan:
    return shuffled(LENGTHS, batch_size, seed, buckets, 0, 1, epoch)


def are_equal(first: Plan, second: Plan) -> bool:
    return len(first) == len(second) and all(map(np.array_equal, first, second))


@pytest.mark.parametrize("buckets", [True, False])
def test_the_order_is_a_function_of_seed_and_epoch(buckets: bool) -> None:
    first = plan(3, 5, buckets)
    assert are_equal(first, plan(3, 5, buckets))
    assert not are_equal(first, plan(4, 5, buckets))
    assert not are_equal(first, plan(3, 6, buckets))


@given(
    n=st.integers(1, 60),
    batch_size=st.integers(1, 13),
    world_size=st.integers(1, 3),
    buckets=st.booleans(),
    evaluation=st.booleans(),
    limit=st.integers(0, 9) | st.floats(0, 1),
)
def test_every_row_is_in_one_of_the_even_batches_of_all_ranks(
    n: int, batch_size: int, world_size: int, buckets: bool, evaluation: bool, limit: float
) -> None:
    lengths = LENGTHS[:n]
    plans = [
        by_length(lengths, batch_size, rank, world_size, limit)
        if evaluation
        else shuffled(lengths, batch_size, 0, buckets, rank, world_size, 0)
        for rank in range(world_size)
    ]
    assert {len(batches) for batches in plans} == {-(-n // (batch_size * world_size))}
    sizes = [len(batch) for batches in plans for batch in batches]
    assert min(sizes) >= 1
    assert max(sizes) <= batch_size
    rows = sorted(int(row) for batches in plans for batch in batches for row in batch)
    assert set(rows) == set(range(n))
    if n >= sum(map(len, plans)):
        assert max(sizes) - min(sizes) <= 1
        assert len(rows) == n


@pytest.mark.parametrize("buckets", [True, False])
def test_rows_are_drawn_by_their_weights(buckets: bool) -> None:
    """32 rows with a mean weight of 0.6: those of 0.3 are drawn in half of the epochs, those of 1.2 always twice."""
    weights = np.repeat([0.3, 0.6, 1.2, 0.3], 8)
    drawn = []
    for epoch in range(200):
        batches = shuffled(LENGTHS[:32], 7, 0, buckets, 0, 1, epoch, weights)
        assert list(map(len, batches)) == list(map(len, shuffled(LENGTHS[:32], 7, 0, buckets, 0, 1, epoch)))
        drawn.append(np.bincount(np.concatenate(batches), minlength=32))
    counts = np.array(drawn)
    assert (counts[:, 8:16] == 1).all() and (counts[:, 16:24] == 2).all()  # 32 · 0.6 / 19.2 = 1
    assert counts[:, :8].max() == 1 and counts[:, 24:].max() == 1 and (counts.sum(1) == 32).all()
    assert abs(counts[:, [*range(8), *range(24, 32)]].mean(0) - 0.5).max() < 0.12  # 3.4 standard deviations
    equal = shuffled(LENGTHS, 7, 3, buckets, 0, 1, 5, np.full(len(LENGTHS), 0.1))
    assert are_equal(equal, plan(3, 5, buckets))


def padding_fraction(batches: Plan) -> float:
    cells = sum(LENGTHS[rows].max() * len(rows) for rows in batches)
    return 1 - LENGTHS.sum() / cells


def test_buckets_save_padding_in_a_random_order() -> None:
    assert padding_fraction(plan(buckets=False)) > 0.3
    assert padding_fraction(plan()) < 0.15
    longest = np.array([LENGTHS[rows].max() for rows in plan()])
    assert abs(np.corrcoef(longest, np.arange(len(longest)))[0, 1]) < 0.3  # batches are not in order of length
    batches_by_epoch = [{frozenset(map(int, rows)) for rows in plan(epoch=epoch)} for epoch in (0, 1)]
    assert not batches_by_epoch[0] & batches_by_epoch[1]


def test_ranks_get_texts_of_similar_length_at_each_step() -> None:
    first, second = (shuffled(LENGTHS, 7, 0, True, rank, 2, 0) for rank in (0, 1))
    gaps = [abs(LENGTHS[a].mean() - LENGTHS[b].mean()) for a, b in zip(first, second, strict=True)]
    assert np.median(gaps) < 35  # neighbours among some 18 batches that span lengths up to 500


@pytest.mark.filterwarnings("error")
def test_without_rows_there_is_no_batch() -> None:
    assert by_length(LENGTHS[:0], 7, 0, 1) == []


def test_evaluation_batches_are_in_descending_order_of_length() -> None:
    lengths = np.array([3, 9, 1, 9, 4])
    assert [rows.tolist() for rows in by_length(lengths, 2, 0, 1)] == [[1], [3, 4], [0, 2]]


@pytest.mark.parametrize(
    ("limit", "batches"),
    [
        (1.0, [[0, 1], [2, 3], [4, 5], [6, 7], [8, 9], [10, 11]]),
        (3, [[0, 2], [4, 6], [8, 10], [1, 3], [5, 7], [9, 11]]),
        (0.5, [[0, 2], [4, 6], [8, 10], [1, 3], [5, 7], [9, 11]]),
        (1, [[0, 6], [1, 2], [3, 4], [5, 7], [8, 9], [10, 11]]),
        (99, [[0, 1], [2, 3], [4, 5], [6, 7], [8, 9], [10, 11]]),
    ],
)
def test_the_first_batches_have_texts_of_all_lengths_if_others_are_not_read(limit, batches) -> None:
    lengths = np.arange(12, 0, -1)  # text i has 12 - i tokens
    assert [rows.tolist() for rows in by_length(lengths, 2, 0, 1, limit)] == batches
    by_rank = [by_length(lengths, 1, rank, 2, limit) for rank in (0, 1)]
    assert [[int(a[0]), int(b[0])] for a, b in zip(*by_rank, strict=True)] == batches

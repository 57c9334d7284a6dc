"""The order of training batches, and the states from which it resumes."""

from functools import partial
from typing import Any

import numpy as np
import pytest

from heedful.base.errors import UserError
from heedful.data.padded_batches import BatchBuilder, ShuffledBatches, Truncation, shuffled

ROWS, BATCH_SIZE = 29, 4


def batch_builder() -> BatchBuilder:
    lengths = np.arange(ROWS) % 11 + 1
    tokens = np.arange(1, lengths.sum() + 1, dtype=np.int32)
    return BatchBuilder(tokens, np.concatenate([[0], lengths.cumsum()]), np.arange(ROWS) % 2, Truncation(9, "first"))


def shuffled_batches(batch_size: int = BATCH_SIZE) -> ShuffledBatches:
    builder = batch_builder()
    return ShuffledBatches(builder, partial(shuffled, builder.lengths, batch_size, 0, True, 0, 1))


def row_lists(batches: Any) -> list[list[int]]:
    return [batch.index.tolist() for batch in batches]


def rows(batches: list[list[int]]) -> list[int]:
    return sorted(row for batch in batches for row in batch)


def test_each_pass_is_the_next_epoch() -> None:
    batches = shuffled_batches()
    first, second = row_lists(batches), row_lists(batches)
    assert first != second
    assert rows(first) == rows(second) == list(range(ROWS))
    restarted = shuffled_batches()
    restarted.set_epoch(1)
    assert row_lists(restarted) == second


def test_a_state_within_an_epoch_does_not_resume_with_other_batches() -> None:
    batches = shuffled_batches()
    next(iter(batches))
    with pytest.raises(UserError, match="within an epoch of 8 batches"):
        shuffled_batches(batch_size=5).load_state_dict(batches.state_dict())


def test_a_finished_epoch_resumes_with_another_batch_size() -> None:
    batches = shuffled_batches()
    row_lists(batches)
    other = shuffled_batches(batch_size=2)
    other.load_state_dict(batches.state_dict())
    assert rows(row_lists(other)) == list(range(ROWS))
    assert other.epoch == 1

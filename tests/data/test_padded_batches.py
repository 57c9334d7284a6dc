"""Truncation and padding of flat token arrays."""

import numpy as np
import torch
from hypothesis import given
from hypothesis import strategies as st

from heedful.data.padded_batches import BatchBuilder, Truncation

TEXTS = [[5, 6, 7], [], [8], [9, 10, 11, 12, 13]]


def batch_builder(texts: list[list[int]], max_length: int = 100, keep: str = "first") -> BatchBuilder:
    tokens = np.array([token for text in texts for token in text], dtype=np.int32)
    offsets = np.cumsum([0, *map(len, texts)])
    return BatchBuilder(tokens, offsets, np.arange(len(texts)) * 2, Truncation(max_length, keep))


def test_rows_are_padded_to_the_longest_of_the_batch() -> None:
    batch = batch_builder(TEXTS)(np.array([0, 2, 1]))
    assert batch.inputs.ids.tolist() == [[5, 6, 7], [8, 0, 0], [0, 0, 0]]
    assert batch.inputs.mask.tolist() == [[True] * 3, [True, False, False], [False] * 3]
    assert batch.targets.tolist() == [0, 4, 2]
    assert batch.index.tolist() == [0, 2, 1]
    tensors = (*batch.inputs[:2], batch.targets, batch.index)
    assert [tensor.dtype for tensor in tensors] == [torch.int64, torch.bool, torch.int64, torch.int64]


@given(longest=st.integers(1, 5000), max_length=st.integers(1, 5000))
def test_the_padded_length_is_at_most_the_maximum_and_an_eighth_above_the_longest_text(longest, max_length) -> None:
    longest = min(longest, max_length)
    padded_length = Truncation(max_length, "first").padded_length(longest)
    assert longest <= padded_length <= min(max_length, longest * 9 / 8)


def test_long_batches_have_few_padded_lengths() -> None:
    truncation = Truncation(1000, "first")
    assert [truncation.padded_length(longest) for longest in (1, 31, 33, 129, 500, 993)] == [1, 32, 36, 144, 512, 1000]
    assert len({truncation.padded_length(longest) for longest in range(1, 1001)}) == 64
    batch = batch_builder([[7] * 37, [5]])(np.array([0, 1]))
    assert batch.inputs.ids.shape == batch.inputs.mask.shape == (2, 40)
    assert batch.inputs.mask.sum(1).tolist() == [37, 1]


def test_a_batch_of_empty_texts_has_one_padded_step() -> None:
    batch = batch_builder([[], []])(np.array([1, 0]))
    assert batch.inputs.ids.tolist() == [[0], [0]]
    assert not batch.inputs.mask.any()


@given(
    texts=st.lists(st.lists(st.integers(1, 99), max_size=9), min_size=1, max_size=7),
    max_length=st.integers(1, 10),
    keep=st.sampled_from(["first", "last"]),
    data=st.data(),
)
def test_every_row_has_the_tokens_of_its_text(texts, max_length, keep, data) -> None:
    rows = np.array(data.draw(st.permutations(range(len(texts)))))
    batch = batch_builder(texts, max_length, keep)(rows)
    for row, tokens, mask in zip(rows, *batch.inputs[:2], strict=True):
        expected = texts[row][:max_length] if keep == "first" else texts[row][-max_length:]
        assert tokens[mask].tolist() == expected
        assert not tokens[~mask].any()

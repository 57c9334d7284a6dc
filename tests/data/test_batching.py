"""Truncation and padding of flat token arrays."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from src.data.batching import Cutter, Window

TEXTS = [[5, 6, 7], [], [8], [9, 10, 11, 12, 13]]


def cutter(texts: list[list[int]], max_length: int = 100, keep: str = "first") -> Cutter:
    tokens = np.array([token for text in texts for token in text], dtype=np.int32)
    offsets = np.cumsum([0, *map(len, texts)])
    return Cutter(tokens, offsets, np.arange(len(texts)) * 2, Window(max_length, keep))


def test_rows_are_padded_to_the_longest_of_the_batch() -> None:
    batch = cutter(TEXTS)(np.array([0, 2, 1]))
    assert batch.tokens.tolist() == [[5, 6, 7], [8, 0, 0], [0, 0, 0]]
    assert batch.mask.tolist() == [[True] * 3, [True, False, False], [False] * 3]
    assert batch.labels.tolist() == [0, 4, 2]
    assert batch.index.tolist() == [0, 2, 1]
    assert [tensor.dtype for tensor in batch] == [torch.int64, torch.bool, torch.int64, torch.int64]


@given(longest=st.integers(1, 5000), max_length=st.integers(1, 5000))
def test_a_batch_is_no_wider_than_the_window_and_a_sixteenth_wider_than_its_longest_text(
    longest: int, max_length: int
) -> None:
    longest = min(longest, max_length)
    width = Window(max_length, "first").width(longest)
    assert longest <= width <= min(max_length, longest * 17 / 16)


def test_long_batches_have_few_widths() -> None:
    window = Window(1000, "first")
    assert [window.width(longest) for longest in (1, 31, 33, 129, 500, 993)] == [1, 31, 34, 136, 512, 1000]
    assert len({window.width(longest) for longest in range(1, 1001)}) == 112
    batch = cutter([[7] * 37, [5]])(np.array([0, 1]))
    assert batch.tokens.shape == batch.mask.shape == (2, 38)
    assert batch.mask.sum(1).tolist() == [37, 1]


@pytest.mark.parametrize(("keep", "tokens"), [("first", [9, 10]), ("last", [12, 13])])
def test_a_long_text_keeps_its_first_or_last_tokens(keep: str, tokens: list[int]) -> None:
    batch = cutter(TEXTS, 2, keep)(np.array([3, 2]))
    assert batch.tokens.tolist() == [tokens, [8, 0]]


def test_a_batch_of_empty_texts_has_one_padded_step() -> None:
    batch = cutter([[], []])(np.array([1, 0]))
    assert batch.tokens.tolist() == [[0], [0]]
    assert not batch.mask.any()


@given(
    texts=st.lists(st.lists(st.integers(1, 99), max_size=9), min_size=1, max_size=7),
    max_length=st.integers(1, 10),
    keep=st.sampled_from(["first", "last"]),
    data=st.data(),
)
def test_every_row_holds_its_own_text(texts: list[list[int]], max_length: int, keep: str, data: st.DataObject) -> None:
    rows = np.array(data.draw(st.permutations(range(len(texts)))))
    batch = cutter(texts, max_length, keep)(rows)
    for row, tokens, mask in zip(rows, batch.tokens, batch.mask, strict=True):
        kept = texts[row][:max_length] if keep == "first" else texts[row][-max_length:]
        assert tokens[mask].tolist() == kept
        assert not tokens[~mask].any()


@pytest.mark.parametrize(("options", "message"), [((0, "first"), "max_length=0"), ((5, "middle"), "keep='middle'")])
def test_a_window_checks_its_options(options: tuple[int, str], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Window(*options)

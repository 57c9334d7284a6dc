"""Masking arithmetic by hand; the numbers at padded positions would change the results if they were included."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import tensor

from src.models import masking

STATES = tensor(
    [[[1.0, -5.0], [3.0, -7.0], [99.0, 99.0]], [[2.0, 4.0], [99.0, 99.0], [99.0, 99.0]], [[99.0, 99.0]] * 3]
)
MASK = tensor([[True, True, False], [True, False, False], [False, False, False]])


def test_sum_mean_maximum_first_and_last_state_by_hand() -> None:
    assert masking.masked_sum(STATES, MASK).tolist() == [[4, -12], [2, 4], [0, 0]]
    assert masking.masked_mean(STATES, MASK).tolist() == [[2, -6], [2, 4], [0, 0]]
    assert masking.masked_max(STATES, MASK).tolist() == [[3, -5], [2, 4], [0, 0]]
    assert masking.state_at(STATES, MASK, last=True).tolist() == [[3, -7], [2, 4], [0, 0]]
    assert masking.state_at(STATES, MASK, last=False).tolist() == [[1, -5], [2, 4], [0, 0]]


@pytest.mark.parametrize("value", [-1e30, 1e30])
def test_finite_values_of_padding_do_not_change_the_results(value: float) -> None:
    states = STATES.masked_fill(~MASK.unsqueeze(-1), value)
    assert torch.equal(masking.zero_padding(states, MASK), masking.zero_padding(STATES, MASK))
    assert torch.equal(masking.masked_mean(states, MASK), masking.masked_mean(STATES, MASK))
    assert torch.equal(masking.masked_max(states, MASK), masking.masked_max(STATES, MASK))


def test_softmax_by_hand() -> None:
    scores = tensor([[math.log(1.0), math.log(3.0), 50.0], [7.0, 50.0, 50.0], [1.0, 2.0, 3.0]])
    expected = tensor([[0.25, 0.75, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 0.0]])
    assert torch.allclose(masking.masked_softmax(scores, MASK), expected, atol=1e-6)
    assert masking.masked_softmax(scores, MASK)[~MASK].abs().sum() == 0
    column_weights = masking.masked_softmax(scores.T, MASK.T, dim=0)
    assert torch.allclose(column_weights.T, expected, atol=1e-6)


def test_softmax_is_correct_for_large_scores_in_half_precision() -> None:
    scores = tensor([[6e4, -6e4, 0.0]], dtype=torch.float16)
    assert masking.masked_softmax(scores, tensor([[True, True, False]])).tolist() == [[1.0, 0.0, 0.0]]


def test_reverse_by_length_by_hand() -> None:
    tokens = tensor([[[1.0], [2.0], [0.0]], [[3.0], [0.0], [0.0]], [[4.0], [5.0], [6.0]]])
    mask = tensor([[True, True, False], [True, False, False], [True, True, True]])
    assert masking.reverse_by_length(tokens, mask)[..., 0].tolist() == [[2, 1, 0], [3, 0, 0], [6, 5, 4]]


@given(st.lists(st.integers(0, 6), min_size=1, max_size=5))
def test_reversing_twice_changes_nothing(lengths: list[int]) -> None:
    states = torch.randn(len(lengths), 7, 2)
    mask = torch.arange(7) < tensor(lengths).unsqueeze(1)
    assert torch.equal(masking.reverse_by_length(masking.reverse_by_length(states, mask), mask), states)

"""Masking arithmetic by hand; the numbers at padded positions would change the results if they were included."""

import math

import torch
from torch import tensor

from heedful.models import component

MASK = tensor([[True, True, False], [True, False, False], [False, False, False]])


def test_softmax_by_hand() -> None:
    scores = tensor([[math.log(1.0), math.log(3.0), 50.0], [7.0, 50.0, 50.0], [1.0, 2.0, 3.0]])
    expected = tensor([[0.25, 0.75, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 0.0]])
    assert torch.allclose(component.masked_softmax(scores, MASK), expected, atol=1e-6)
    assert component.masked_softmax(scores, MASK)[~MASK].abs().sum() == 0
    column_weights = component.masked_softmax(scores.T, MASK.T, dim=0)
    assert torch.allclose(column_weights.T, expected, atol=1e-6)


def test_softmax_is_correct_for_large_scores_in_half_precision() -> None:
    scores = tensor([[6e4, -6e4, 0.0]], dtype=torch.float16)
    assert component.masked_softmax(scores, tensor([[True, True, False]])).tolist() == [[1.0, 0.0, 0.0]]

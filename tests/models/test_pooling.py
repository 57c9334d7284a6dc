"""Poolings by hand; the numbers at padded positions would change the results if they were included."""

import math

import pytest
import torch
from torch import Tensor, tensor

from heedful.models.component import Encoded, Pooling, state_at
from heedful.models.pooling import Attentive, Concat, First, Last, Max, Mean, MeanMax, Sum

PADDING = [99.0, 99.0]
ENCODED = Encoded(  # texts of two, one and no tokens
    states=tensor([[[1, -4], [3, -8], PADDING], [[2, 4], PADDING, PADDING], [PADDING] * 3], dtype=torch.float64),
    mask=tensor([[True, True, False], [True, False, False], [False, False, False]]),
    summary=tensor([[7, 5], [8, 6], [9, 7]], dtype=torch.float64),
)


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        (Last, [[7, 5], [8, 6], [9, 7]]),
        (First, [[1, -4], [2, 4], [0, 0]]),
        (Mean, [[2, -6], [2, 4], [0, 0]]),
        (Max, [[3, -4], [2, 4], [0, 0]]),
        (Sum, [[4, -12], [2, 4], [0, 0]]),
        (MeanMax, [[2, -6, 3, -4], [2, 4, 2, 4], [0, 0, 0, 0]]),
        (Concat, [[7, 5, 3, -4, 2, -6], [8, 6, 2, 4, 2, 4], [9, 7, 0, 0, 0, 0]]),
    ],
)
def test_poolings_by_hand(kind: type[Pooling], expected: list[list[float]]) -> None:
    pooling = kind(2)
    output: Tensor = pooling(ENCODED)
    assert output.tolist() == expected
    assert pooling.output_dim == len(expected[0])


def test_the_last_state_by_hand() -> None:
    assert state_at(ENCODED.states, ENCODED.mask, last=True).tolist() == [[3, -8], [2, 4], [0, 0]]


def test_attentive_pooling_by_hand() -> None:
    pooling = Attentive(2).double()
    with torch.no_grad():
        pooling.hidden.weight.copy_(torch.eye(2))
        pooling.hidden.bias.zero_()
        pooling.question.weight.copy_(tensor([[2.0, 0.0]]))
        output = pooling(ENCODED)
    first, second = math.exp(2 * math.tanh(1)), math.exp(2 * math.tanh(3))
    weight = second / (first + second)
    assert output[0, 0].item() == pytest.approx(1 * (1 - weight) + 3 * weight, abs=1e-12)
    assert output[0, 1].item() == pytest.approx(-4 * (1 - weight) - 8 * weight, abs=1e-12)

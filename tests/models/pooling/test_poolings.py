"""Poolings by hand; padding holds numbers that would show."""

import math

import pytest
import torch
from torch import Tensor, tensor

from src.models.pooling.attentive import Attentive
from src.models.pooling.base import Pooling
from src.models.pooling.concat import Concat
from src.models.pooling.first import First
from src.models.pooling.last import Last
from src.models.pooling.max import Max
from src.models.pooling.mean import Mean
from src.models.pooling.mean_max import MeanMax
from src.models.pooling.sum import Sum
from src.models.types import Encoded

ENCODED = Encoded(
    states=tensor([[[1.0, -4.0], [3.0, -8.0], [99.0, 99.0]]], dtype=torch.float64),
    mask=tensor([[True, True, False]]),
    summary=tensor([[7.0, 5.0]], dtype=torch.float64),
)


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        (Last, [7, 5]),
        (First, [1, -4]),
        (Mean, [2, -6]),
        (Max, [3, -4]),
        (Sum, [4, -12]),
        (MeanMax, [2, -6, 3, -4]),
        (Concat, [7, 5, 3, -4, 2, -6]),
    ],
)
def test_by_hand(kind: type[Pooling], expected: list[float]) -> None:
    pooling = kind(2)
    out: Tensor = pooling(ENCODED)
    assert out.tolist() == [expected]
    assert pooling.output_dim == len(expected)


def test_attentive_asks_its_question_of_every_state() -> None:
    pooling = Attentive(2).double()
    with torch.no_grad():
        pooling.hidden.weight.copy_(torch.eye(2))
        pooling.hidden.bias.zero_()
        pooling.question.weight.copy_(tensor([[2.0, 0.0]]))
        out = pooling(ENCODED)
    first, second = math.exp(2 * math.tanh(1)), math.exp(2 * math.tanh(3))
    share = second / (first + second)
    assert out[0, 0].item() == pytest.approx(1 * (1 - share) + 3 * share, abs=1e-12)
    assert out[0, 1].item() == pytest.approx(-4 * (1 - share) - 8 * share, abs=1e-12)

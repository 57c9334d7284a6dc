"""Dropout of weights, chunk by chunk, against the whole formula."""

import pytest
import torch

from src.kernels import attention
from src.kernels.attention import fused_attention

N, H, T, L, D, V = 3, 5, 7, 11, 2, 13


CHUNKS = {"a head": 1, "three heads": 3 * T * L, "two texts": 2 * H * T * L, "all": 2**18}


@pytest.fixture(params=CHUNKS.values(), ids=CHUNKS.keys())
def inputs(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> list[torch.Tensor]:
    monkeypatch.setattr(attention, "CHUNK", request.param)
    torch.manual_seed(0)
    shapes = ((N, H, T, D), (N, H, L, D), (N, H, L, V))
    return [torch.randn(shape, dtype=torch.float64, requires_grad=True) for shape in shapes]


def visible() -> torch.Tensor:
    lengths = torch.tensor([11, 1, 4])
    return (torch.arange(L) < lengths[:, None])[:, None, None]


def formula(inputs: list[torch.Tensor], mask: torch.Tensor, rate: float) -> torch.Tensor:
    queries, keys, values = inputs
    scores = (queries @ keys.transpose(-2, -1)).masked_fill(~visible(), -torch.inf)
    return scores.softmax(-1) * mask / (1 - rate) @ values


def test_the_output_and_its_gradients_follow_the_formula(inputs: list[torch.Tensor]) -> None:
    rate = 0.25  # a whole number of levels
    torch.manual_seed(3)
    mixed = fused_attention(*inputs, visible(), rate)
    torch.manual_seed(3)
    torch.manual_seed(3)
    identity = torch.eye(L, dtype=torch.float64).expand(N, H, L, L)  # as values they show the weights
    mask = fused_attention(*inputs[:2], identity, visible(), rate) != 0
    expected = formula(inputs, mask, rate)
    torch.testing.assert_close(mixed, expected, rtol=0, atol=1e-12)
    upstream = torch.randn_like(expected)
    for actual, expected_gradient in zip(
        torch.autograd.grad(mixed, inputs, upstream), torch.autograd.grad(expected, inputs, upstream), strict=True
    ):
        torch.testing.assert_close(actual, expected_gradient, rtol=0, atol=1e-11)


def test_a_weight_is_dropped_as_often_as_the_rate_says() -> None:
    torch.manual_seed(0)
    size = 101
    zeros, identity = torch.zeros(7, 3, size, 2), torch.eye(size).expand(7, 3, size, size)
    every = torch.ones(7, 1, 1, size, dtype=torch.bool)
    weights = fused_attention(zeros, zeros, identity, every, 0.3)  # the values make the weights visible
    dropped_share = (weights == 0).double().mean()
    count = weights.numel()
    assert abs(dropped_share - 0.3) < 5 * (0.3 * 0.7 / count) ** 0.5
    torch.testing.assert_close(
        weights[weights > 0], torch.full_like(weights[weights > 0], 1 / size / 0.7), rtol=1e-4, atol=0
    )


def test_each_seed_drops_its_own_weights() -> None:
    zeros, values = torch.zeros(1, 1, 5, 2), torch.eye(5)[None, None]
    every = torch.ones(1, 1, 1, 5, dtype=torch.bool)

    def draw(seed: int) -> torch.Tensor:
        torch.manual_seed(seed)
        return fused_attention(zeros, zeros, values, every, 0.5)

    assert torch.equal(draw(1), draw(1))
    assert not torch.equal(draw(1), draw(2))


def test_it_computes_in_float32_under_autocast() -> None:
    queries = torch.randn(2, 2, 5, 4, dtype=torch.bfloat16, requires_grad=True)
    every = torch.ones(2, 1, 1, 5, dtype=torch.bool)
    with torch.autocast("cpu", torch.bfloat16):
        mixed = fused_attention(queries, queries, queries, every, 0.1)
    mixed.sum().backward()
    assert mixed.dtype == torch.float32 and queries.grad is not None and queries.grad.isfinite().all()

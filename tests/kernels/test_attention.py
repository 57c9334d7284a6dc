"""Attention with dropout of weights, computed in chunks, against the formula."""

import pytest
import torch

from heedful.kernels import layers
from heedful.kernels.layers import fused_attention

N, H, T, L, D, V = 3, 5, 7, 11, 2, 13
CHUNKS = {"one head": 1, "three heads": 3 * T * L, "two texts": 2 * H * T * L, "all": 2**18}


@pytest.mark.parametrize("chunk", CHUNKS.values(), ids=CHUNKS)
def test_the_output_and_its_gradients_follow_the_formula(chunk: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(layers, "CHUNK", chunk)
    torch.manual_seed(0)
    shapes = ((N, H, T, D), (N, H, L, D), (N, H, L, V))
    inputs = [torch.randn(shape, dtype=torch.float64, requires_grad=True) for shape in shapes]
    rate = 0.25  # a multiple of 1/256
    mask = (torch.arange(L) < torch.tensor([[11], [1], [4]]))[:, None, None]
    torch.manual_seed(3)
    output = fused_attention(*inputs, mask, rate)
    torch.manual_seed(3)
    identity = torch.eye(L, dtype=torch.float64).expand(N, H, L, L)  # as values, it gives the weights
    dropout_mask = fused_attention(*inputs[:2], identity, mask, rate) != 0
    queries, keys, values = inputs
    scores = (queries @ keys.transpose(-2, -1)).masked_fill(~mask, -torch.inf)
    expected = scores.softmax(-1) * dropout_mask / (1 - rate) @ values
    torch.testing.assert_close(output, expected, rtol=0, atol=1e-12)
    upstream = torch.randn_like(expected)
    for actual, expected_gradient in zip(
        torch.autograd.grad(output, inputs, upstream), torch.autograd.grad(expected, inputs, upstream), strict=True
    ):
        torch.testing.assert_close(actual, expected_gradient, rtol=0, atol=1e-11)


def test_weights_are_dropped_with_the_probability_of_the_rate() -> None:
    torch.manual_seed(0)
    size = 101
    zeros, identity = torch.zeros(7, 3, size, 2), torch.eye(size).expand(7, 3, size, size)
    mask = torch.ones(7, 1, 1, size, dtype=torch.bool)
    weights = fused_attention(zeros, zeros, identity, mask, 0.3)  # the identity as values gives the weights
    dropped_fraction = (weights == 0).double().mean()
    count = weights.numel()
    assert abs(dropped_fraction - 0.3) < 5 * (0.3 * 0.7 / count) ** 0.5
    torch.testing.assert_close(
        weights[weights > 0], torch.full_like(weights[weights > 0], 1 / size / 0.7), rtol=1e-4, atol=0
    )


def test_the_output_is_float32_under_autocast() -> None:
    queries = torch.randn(2, 2, 5, 4, dtype=torch.bfloat16, requires_grad=True)
    mask = torch.ones(2, 1, 1, 5, dtype=torch.bool)
    with torch.autocast("cpu", torch.bfloat16):
        output = fused_attention(queries, queries, queries, mask, 0.1)
    output.sum().backward()
    assert output.dtype == torch.float32 and queries.grad is not None and queries.grad.isfinite().all()

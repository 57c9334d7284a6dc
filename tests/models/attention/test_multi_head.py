"""Against loops, and against torch's own module with copied weights."""

import math

import pytest
import torch
from torch import nn

from src.models.attention.multi_head import MultiHeadAttention
from tests.models.reference import attend, close, ragged

H, W = 3, 5
D = H * W


@pytest.mark.parametrize("bias", [True, False])
def test_formula(bias: bool) -> None:
    texts = ragged(D)
    attention = MultiHeadAttention(D, heads=H, bias=bias).double()
    with torch.no_grad():
        projected = attention.projections(texts.states)  # N×L×3D: all queries, all keys, all values
        contexts = []
        for h in range(H):
            queries, keys, values = (projected[..., k * D + h * W : k * D + (h + 1) * W] for k in range(3))
            weights, mixed = attend(queries, keys, values, texts.mask, lambda q, k: float(q @ k) / math.sqrt(W))
            assert close(attention.weights(texts)[:, h], weights)
            contexts.append(mixed)
        expected = attention.output(torch.cat(contexts, -1))
        expected[~texts.mask] = 0.0
        assert close(attention(texts).states, expected)


@pytest.mark.parametrize("bias", [True, False])
def test_against_torch(bias: bool) -> None:
    texts = ragged(D)
    torch.manual_seed(0)
    peer = nn.MultiheadAttention(D, H, bias=bias, batch_first=True, dtype=torch.float64)
    attention = MultiHeadAttention(D, heads=H, bias=bias).double()
    with torch.no_grad():
        attention.projections.weight.copy_(peer.in_proj_weight)
        attention.output.weight.copy_(peer.out_proj.weight)
        if bias:
            attention.projections.bias.copy_(peer.in_proj_bias.normal_())
            attention.output.bias.copy_(peer.out_proj.bias.normal_())
        states = texts.states
        mixed, weights = peer(states, states, states, key_padding_mask=~texts.mask, average_attn_weights=False)
    real = texts.mask.unsqueeze(-1)
    assert close(attention(texts).states, mixed * real)
    assert close(attention.weights(texts), weights * real.unsqueeze(1))


def test_heads_must_divide_the_features() -> None:
    with pytest.raises(ValueError, match="heads=4 must be a positive divisor of 15, the number of features of a state"):
        MultiHeadAttention(D, heads=4)
    with pytest.raises(ValueError, match="heads=0"):
        MultiHeadAttention(D, heads=0)

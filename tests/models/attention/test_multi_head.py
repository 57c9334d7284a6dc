"""Multi-head attention against loops, and against torch's module with the same weights."""

import math

import pytest
import torch
from torch import nn

from src.models.attention.multi_head import MultiHeadAttention
from tests.models.reference import attend, close, ragged

H, W = 3, 5  # heads, features of a head
D = H * W


@pytest.mark.parametrize("bias", [True, False])
def test_states_and_weights_follow_the_formula(bias: bool) -> None:
    texts = ragged(D)
    attention = MultiHeadAttention(D, heads=H, bias=bias).double()
    with torch.no_grad():
        projected = attention.projections(texts.states)  # N×L×3D: all queries, all keys, all values
        contexts = []
        for h in range(H):
            queries, keys, values = (projected[..., k * D + h * W : k * D + (h + 1) * W] for k in range(3))
            weights, context = attend(queries, keys, values, texts.mask, lambda q, k: float(q @ k) / math.sqrt(W))
            assert close(attention.weights(texts)[:, h], weights)
            contexts.append(context)
        expected = attention.output(torch.cat(contexts, -1))
        expected[~texts.mask] = 0.0
        assert close(attention(texts).states, expected)


@pytest.mark.parametrize("bias", [True, False])
def test_states_and_weights_equal_those_of_torch(bias: bool) -> None:
    texts = ragged(D)
    torch.manual_seed(0)
    reference = nn.MultiheadAttention(D, H, bias=bias, batch_first=True, dtype=torch.float64)
    attention = MultiHeadAttention(D, heads=H, bias=bias).double()
    with torch.no_grad():
        attention.projections.weight.copy_(reference.in_proj_weight)
        attention.output.weight.copy_(reference.out_proj.weight)
        if bias:
            attention.projections.bias.copy_(reference.in_proj_bias.normal_())
            attention.output.bias.copy_(reference.out_proj.bias.normal_())
        states = texts.states
        expected, weights = reference(states, states, states, key_padding_mask=~texts.mask, average_attn_weights=False)
    real = texts.mask.unsqueeze(-1)
    assert close(attention(texts).states, expected * real)
    assert close(attention.weights(texts), weights * real.unsqueeze(1))


def test_heads_must_divide_the_features() -> None:
    with pytest.raises(ValueError, match="heads=4 must be a positive divisor of 15, the number of features of a state"):
        MultiHeadAttention(D, heads=4)
    with pytest.raises(ValueError, match="heads=0"):
        MultiHeadAttention(D, heads=0)

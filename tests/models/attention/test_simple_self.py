import math

import torch

from src.models.attention.simple_self import SimpleSelfAttention
from src.models.types import Encoded
from tests.models.reference import attend, close, ragged

D = 11


def test_states_and_weights_follow_the_formula() -> None:
    texts = ragged(D)
    attention = SimpleSelfAttention(D)
    x = texts.states
    weights, expected = attend(x, x, x, texts.mask, lambda q, k: float(q @ k) / math.sqrt(D))
    assert close(attention.weights(texts)[:, 0], weights)
    assert close(attention(texts).states, expected)
    assert list(attention.parameters()) == []
    assert attention.output_dim == D


def test_weights_and_states_by_hand() -> None:
    """Four equal features: √D = 2, x₁·x₁/2 = 2a² and x₁·x₂/2 = 0, so the weight of x₁ is 3/4 if 2a² = ln 3."""
    a = math.sqrt(math.log(3) / 2)
    states = torch.tensor([[[a, a, a, a], [0, 0, 0, 0]]], dtype=torch.float64)
    texts = Encoded(states, torch.ones(1, 2, dtype=torch.bool), states[:, 0])
    weights = SimpleSelfAttention(4).weights(texts)[0, 0]
    assert close(weights, torch.tensor([[0.75, 0.25], [0.5, 0.5]], dtype=torch.float64))
    assert close(SimpleSelfAttention(4)(texts).states[0, 0], torch.full((4,), 0.75 * a, dtype=torch.float64))

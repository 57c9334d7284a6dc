"""Positions (none, index, sinusoidal and learned) against their formulas."""

import math

import pytest
import torch
from torch import nn

from src.errors import UserError
from src.models.position import Index, Learned, NoPosition, Rotary, Sinusoidal
from tests.models.reference import close, padded, ragged

D, L = 5, 7


def test_no_position_returns_the_states() -> None:
    texts = ragged(D)
    assert NoPosition(D)(texts.states, texts.mask) is texts.states


def test_index_appends_the_raw_position() -> None:
    texts = ragged(D)
    component = Index(D)
    output = component(texts.states, texts.mask)
    assert component.output_dim == D + 1
    assert torch.equal(output[..., :D], texts.states)
    assert output[..., D].tolist() == [[0, 1, 2, 3, 4, 5, 6], [0] * 7, [0, 1, 2, 3, 0, 0, 0]]
    assert output.dtype == torch.float64


@pytest.mark.parametrize("dim", [5, 6])
def test_sinusoidal_positions_follow_the_formula(dim: int) -> None:
    texts = ragged(dim)
    output = Sinusoidal(dim)(texts.states, texts.mask)
    for n in range(3):
        for t in range(L):
            for feature in range(dim):
                angle = t / 10000 ** (2 * (feature // 2) / dim)
                wave = math.sin(angle) if feature % 2 == 0 else math.cos(angle)
                expected = texts.states[n, t, feature] + (wave if texts.mask[n, t] else 0.0)
                assert abs(output[n, t, feature] - expected) < 1e-12


def test_learned_positions_add_a_vector_for_each_position() -> None:
    texts = ragged(D)
    component = Learned(D, max_length=11).double()
    output = component(texts.states, texts.mask)
    assert torch.equal(output[0], texts.states[0] + component.vectors[:L])
    assert torch.equal(output[2, :4], texts.states[2, :4] + component.vectors[:4])
    output.sum().backward()
    assert component.vectors.grad is not None
    counts = [3, 2, 2, 2, 1, 1, 1, 0, 0, 0, 0]  # the number of texts that have a token at each position
    assert component.vectors.grad[:, 0].tolist() == counts


def test_a_text_longer_than_the_learned_positions_is_refused() -> None:
    texts = ragged(D)
    with pytest.raises(UserError, match=r"7 tokens, .* 6 learned position embeddings: .*model\.position\.max_length"):
        Learned(D, max_length=6)(texts.states, texts.mask)


@pytest.mark.parametrize("kind", [NoPosition, Index, Sinusoidal, Learned, Rotary])
def test_padding_has_no_position_and_shifts_no_token(kind: type[nn.Module]) -> None:
    texts = ragged(D)
    component = kind(D).double()
    output = component(texts.states, texts.mask)
    assert output.shape == (3, L, component.output_dim)
    assert torch.equal(output[~texts.mask][:, :D], texts.states[~texts.mask])
    padded_texts = padded(texts, 4)
    assert close(component(padded_texts.states, padded_texts.mask)[:, :L], output)


@pytest.mark.parametrize("kind", [Sinusoidal, Index])
def test_positions_preserve_the_dtype(kind: type[nn.Module]) -> None:
    states = torch.zeros(2, 3, D, dtype=torch.bfloat16)
    assert kind(D)(states, torch.ones(2, 3, dtype=torch.bool)).dtype == torch.bfloat16

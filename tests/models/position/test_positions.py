"""None, index, sinusoidal and learned positions against their formulas."""

import math

import pytest
import torch
from torch import nn

from src.errors import UserError
from src.models.position.index import Index
from src.models.position.learned import Learned
from src.models.position.none import NoPosition
from src.models.position.rotary import Rotary
from src.models.position.sinusoidal import Sinusoidal
from tests.models.reference import close, padded, ragged

D, L = 5, 7


def test_none_hands_the_states_on() -> None:
    texts = ragged(D)
    assert NoPosition(D)(texts.states, texts.mask) is texts.states


def test_index_appends_the_raw_position() -> None:
    texts = ragged(D)
    part = Index(D)
    out = part(texts.states, texts.mask)
    assert part.output_dim == D + 1
    assert torch.equal(out[..., :D], texts.states)
    assert out[..., D].tolist() == [[0, 1, 2, 3, 4, 5, 6], [0] * 7, [0, 1, 2, 3, 0, 0, 0]]
    assert out.dtype == torch.float64


@pytest.mark.parametrize("dim", [5, 6])
def test_sinusoidal_formula(dim: int) -> None:
    texts = ragged(dim)
    out = Sinusoidal(dim)(texts.states, texts.mask)
    for n in range(3):
        for t in range(L):
            for feature in range(dim):
                angle = t / 10000 ** (2 * (feature // 2) / dim)
                wave = math.sin(angle) if feature % 2 == 0 else math.cos(angle)
                expected = texts.states[n, t, feature] + (wave if texts.mask[n, t] else 0.0)
                assert abs(out[n, t, feature] - expected) < 1e-12


def test_learned_adds_its_own_vectors() -> None:
    texts = ragged(D)
    part = Learned(D, max_length=11).double()
    out = part(texts.states, texts.mask)
    assert torch.equal(out[0], texts.states[0] + part.vectors[:L])
    assert torch.equal(out[2, :4], texts.states[2, :4] + part.vectors[:4])
    out.sum().backward()
    assert part.vectors.grad is not None
    assert part.vectors.grad[:, 0].tolist() == [
        3,
        2,
        2,
        2,
        1,
        1,
        1,
        0,
        0,
        0,
        0,
    ]  # texts that reach a position


def test_a_text_longer_than_the_learned_positions_is_refused() -> None:
    texts = ragged(D)
    with pytest.raises(UserError, match=r"7 tokens, .* 6 learned position embeddings: .*model\.position\.max_length"):
        Learned(D, max_length=6)(texts.states, texts.mask)
    with pytest.raises(ValueError, match="max_length=0 must be at least 1"):
        Learned(D, max_length=0)


@pytest.mark.parametrize("kind", [NoPosition, Index, Sinusoidal, Learned, Rotary])
def test_padding_gets_no_position_and_moves_none(kind: type[nn.Module]) -> None:
    texts = ragged(D)
    part = kind(D).double()
    out = part(texts.states, texts.mask)
    assert out.shape == (3, L, part.output_dim)
    assert torch.equal(out[~texts.mask][:, :D], texts.states[~texts.mask])
    more = padded(texts, 4)
    assert close(part(more.states, more.mask)[:, :L], out)


@pytest.mark.parametrize("kind", [Sinusoidal, Index])
def test_positions_keep_the_dtype(kind: type[nn.Module]) -> None:
    states = torch.zeros(2, 3, D, dtype=torch.bfloat16)
    assert kind(D)(states, torch.ones(2, 3, dtype=torch.bool)).dtype == torch.bfloat16

"""Positional encodings against their formulas."""

import math
from collections.abc import Callable

import pytest
import torch
from torch import nn

from heedful.base.errors import UserError
from heedful.models.attention.elementwise import ElementwiseAttention
from heedful.models.attention.keras import KerasConcatAttention
from heedful.models.attention.none import NoAttention
from heedful.models.attention.qkv import QkvAttention
from heedful.models.attention.self_attention import MultiHeadAttention, SelfAttention, SimpleSelfAttention
from heedful.models.encoder.hybrid import Hybrid
from heedful.models.encoder.identity import Identity
from heedful.models.encoder.transformer import Transformer
from heedful.models.position import Index, Learned, Rotary, Sinusoidal
from tests.models.reference import close, ragged

D, L = 5, 7
H, W = 3, 4  # heads, features of a head
ROTATED: dict[str, Callable[[], SelfAttention]] = {
    "simple_self": lambda: SimpleSelfAttention(H * W),
    "qkv": lambda: QkvAttention(H * W),
    "multi_head": lambda: MultiHeadAttention(H * W, heads=H),
}


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
    counts = [3, 2, 2, 2, 1, 1, 1, 0, 0, 0, 0]  # the number of texts that have a token at each position
    assert component.vectors.grad[:, 0].tolist() == counts


def test_a_text_longer_than_the_learned_positions_is_refused() -> None:
    texts = ragged(D)
    with pytest.raises(UserError, match=r"7 tokens, .* 6 learned position embeddings: .*model\.position\.max_length"):
        Learned(D, max_length=6)(texts.states, texts.mask)


@pytest.mark.parametrize("kind", [Sinusoidal, Index])
def test_positions_preserve_the_dtype(kind: type[nn.Module]) -> None:
    states = torch.zeros(2, 3, D, dtype=torch.bfloat16)
    assert kind(D)(states, torch.ones(2, 3, dtype=torch.bool)).dtype == torch.bfloat16


def test_the_rotation_follows_the_formula() -> None:
    """Each pair of features is a complex number; pair k at position l is multiplied by exp(i l / base^(2k/d))."""
    heads = torch.randn(2, H, L, W, dtype=torch.float64)
    rotated = Rotary(H * W, base=100.0).rotate(heads)
    for position in range(L):
        for pair in range(W // 2):
            angle = position / 100.0 ** (2 * pair / W)
            number = torch.view_as_complex(heads[:, :, position, 2 * pair : 2 * pair + 2].contiguous())
            expected = torch.view_as_real(number * complex(math.cos(angle), math.sin(angle)))
            assert close(rotated[:, :, position, 2 * pair : 2 * pair + 2], expected, 1e-12)


@pytest.mark.parametrize("kind", ROTATED)
def test_scores_depend_on_the_distance_only(kind: str) -> None:
    """In a text of one repeated token, all pairs of tokens at the same distance have the same score."""
    torch.manual_seed(0)
    attention = ROTATED[kind]().double()
    states = torch.randn(1, 1, H * W, dtype=torch.float64).expand(1, L, H * W)
    mask = torch.ones(1, L, dtype=torch.bool)
    Rotary(H * W, base=10.0).attach(attention)
    queries, keys, values = attention._project(states, mask)
    scores = attention.score(queries, keys)
    for distance in range(-L + 1, L):
        diagonal = scores.diagonal(distance, -2, -1)
        assert close(diagonal, diagonal[..., :1].expand_as(diagonal))
    assert scores[0, 0, 0].std() > 1e-3
    assert close(values[0, 0], values[0, 0, :1].expand(L, -1)), "values must not be rotated"


@pytest.mark.parametrize("kind", [Transformer, Hybrid])
def test_every_layer_of_an_encoder_is_rotated_and_depends_on_the_order(kind: type[nn.Module]) -> None:
    torch.manual_seed(0)
    encoder = kind(H * W, heads=H).double().eval()
    states = ragged(H * W, (L,)).states
    mask = torch.ones(1, L, dtype=torch.bool)
    assert close(encoder(states.flip(1), mask).summary, encoder(states, mask).summary)
    parameters = list(encoder.state_dict())
    Rotary(H * W).attach(encoder, NoAttention(H * W))
    attentions = [module for module in encoder.modules() if isinstance(module, SelfAttention)]
    assert len(attentions) == 2 and all(attention.rotary is not None for attention in attentions)
    assert list(encoder.state_dict()) == parameters
    assert not torch.allclose(encoder(states.flip(1), mask).summary, encoder(states, mask).summary)


def test_rotary_positions_without_suitable_attention_are_refused() -> None:
    with pytest.raises(ValueError, match="neither encoder nor attention computes them"):
        Rotary(H * W).attach(Identity(D), ElementwiseAttention(D))
    with pytest.raises(ValueError, match="a head must have an even number of features, not 3"):
        Rotary(H * W).attach(MultiHeadAttention(9, heads=3))
    with pytest.raises(ValueError, match="concat attention adds queries to keys"):
        Rotary(H * W).attach(KerasConcatAttention(D))

import math
from collections.abc import Callable

import pytest
import torch
from torch import nn

from src.models.attention.elementwise import ElementwiseAttention
from src.models.attention.keras import KerasConcatAttention, KerasDotAttention
from src.models.attention.none import NoAttention
from src.models.attention.qkv import QkvAttention
from src.models.attention.self_attention import MultiHeadAttention, SelfAttention, SimpleSelfAttention
from src.models.attention.windowed import WindowedAttention
from src.models.component import Encoded
from src.models.encoder.hybrid import Hybrid
from src.models.encoder.identity import Identity
from src.models.encoder.transformer import Transformer
from src.models.position import Rotary
from tests.models.reference import close, ragged

H, W, L = 3, 4, 7  # heads, features of a head, tokens
D = H * W

ATTENTIONS: dict[str, Callable[[], SelfAttention]] = {
    "simple_self": lambda: SimpleSelfAttention(D),
    "qkv": lambda: QkvAttention(D),
    "keras": lambda: KerasDotAttention(D),
    "multi_head": lambda: MultiHeadAttention(D, heads=H),
    "windowed": lambda: WindowedAttention(D, heads=H, window=2),
}


def test_the_rotation_follows_the_formula() -> None:
    """Each pair of features is a complex number; pair k at position l is multiplied by exp(i l / base^(2k/d))."""
    heads = torch.randn(2, H, L, W, dtype=torch.float64)
    rotated = Rotary(D, base=100.0).rotate(heads)
    for position in range(L):
        for pair in range(W // 2):
            angle = position / 100.0 ** (2 * pair / W)
            number = torch.view_as_complex(heads[:, :, position, 2 * pair : 2 * pair + 2].contiguous())
            expected = torch.view_as_real(number * complex(math.cos(angle), math.sin(angle)))
            assert close(rotated[:, :, position, 2 * pair : 2 * pair + 2], expected, 1e-12)


@pytest.mark.parametrize("kind", ATTENTIONS)
def test_scores_depend_on_the_distance_only(kind: str) -> None:
    """In a text of one repeated token, all pairs of tokens at the same distance have the same score."""
    torch.manual_seed(0)
    attention = ATTENTIONS[kind]().double()
    states = torch.randn(1, 1, D, dtype=torch.float64).expand(1, L, D)
    mask = torch.ones(1, L, dtype=torch.bool)
    Rotary(D, base=10.0).attach(attention)
    queries, keys, values = attention._project(states, mask)
    scores = attention.score(queries, keys)
    for distance in range(-L + 1, L):
        diagonal = scores.diagonal(distance, -2, -1)
        assert close(diagonal, diagonal[..., :1].expand_as(diagonal))
    assert scores[0, 0, 0].std() > 1e-3
    assert close(values[0, 0], values[0, 0, :1].expand(L, -1)), "values must not be rotated"


@pytest.mark.parametrize("kind", ATTENTIONS)
def test_states_remain_the_product_of_weights_and_values(kind: str) -> None:
    texts = ragged(D)
    torch.manual_seed(0)
    attention = ATTENTIONS[kind]().double()
    before = attention.weights(texts)
    Rotary(D).attach(attention)
    with torch.no_grad():
        weights = attention.weights(texts)
        expected = attention.merge(weights @ attention.project(texts.states, texts.mask)[2])
        assert close(attention(texts).states, expected * texts.mask.unsqueeze(-1))
    assert not torch.allclose(weights, before)


@pytest.mark.parametrize("kind", [Transformer, Hybrid])
def test_every_layer_of_an_encoder_is_rotated_and_depends_on_the_order(kind: type[nn.Module]) -> None:
    torch.manual_seed(0)
    encoder = kind(D, heads=H).double().eval()
    states = ragged(D, (L,)).states
    mask = torch.ones(1, L, dtype=torch.bool)
    assert close(encoder(states.flip(1), mask).summary, encoder(states, mask).summary)
    parameters = list(encoder.state_dict())
    Rotary(D).attach(encoder, NoAttention(D))
    attentions = [module for module in encoder.modules() if isinstance(module, SelfAttention)]
    assert len(attentions) == 2 and all(attention.rotary is not None for attention in attentions)
    assert list(encoder.state_dict()) == parameters
    assert not torch.allclose(encoder(states.flip(1), mask).summary, encoder(states, mask).summary)


def test_rotary_positions_without_suitable_attention_are_refused() -> None:
    with pytest.raises(ValueError, match="neither encoder nor attention computes them"):
        Rotary(D).attach(Identity(D), ElementwiseAttention(D))
    with pytest.raises(ValueError, match="a head must have an even number of features, not 3"):
        Rotary(D).attach(MultiHeadAttention(9, heads=3))
    with pytest.raises(ValueError, match="concat attention adds queries to keys"):
        Rotary(D).attach(KerasConcatAttention(D))


def test_the_states_are_unchanged() -> None:
    texts: Encoded = ragged(D)
    assert Rotary(D)(texts.states, texts.mask) is texts.states


def test_the_rotation_preserves_half_precision() -> None:
    heads = torch.randn(2, H, 600, W)
    rotated = Rotary(D).rotate(heads.bfloat16())
    assert rotated.dtype == torch.bfloat16
    assert torch.allclose(rotated.float(), Rotary(D).rotate(heads), atol=0.05)

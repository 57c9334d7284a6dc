"""The report on simple and full self-attention: Heed's components against its model, and its errors."""

from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from src.models.attention.self_attention import MultiHeadAttention, SimpleSelfAttention
from src.models.component import Encoded
from src.models.masking import masked_max, masked_mean, masked_sum
from src.models.sublayer import AttentionSublayer
from tests.models.reference import close, padded, ragged

H, W = 2, 5  # heads, features of a head
D = H * W
POOLINGS = {
    "max": (masked_max, lambda states: states.amax(1)),
    "avg": (masked_mean, lambda states: states.mean(1)),
    "sum": (masked_sum, lambda states: states.sum(1)),
}


def build_attention(dropout: float = 0.0) -> AttentionSublayer:
    torch.manual_seed(0)
    return AttentionSublayer(D, MultiHeadAttention(D, heads=H, dropout=dropout), norm="both").double()


def compute_report(sublayer: AttentionSublayer, states: Tensor) -> tuple[Tensor, Tensor]:
    """States N×L×D of the report's model before pooling, and its weights N×H×L×L, without a mask as in the report."""
    attention: Any = sublayer.attention
    normalized = F.layer_norm(states, [D])
    queries, keys, values = attention.projections(normalized).chunk(3, -1)
    weights, contexts = [], []
    for h in range(H):
        head = slice(h * W, (h + 1) * W)
        weights.append((queries[..., head] @ keys[..., head].transpose(1, 2) / W**0.5).softmax(-1))
        contexts.append(weights[-1] @ values[..., head])
    attended = states + attention.output(torch.cat(contexts, -1))
    return F.layer_norm(attended, [D]), torch.stack(weights, 1)


@pytest.mark.parametrize("pooling", POOLINGS)
def test_the_component_equals_the_reports_model_without_padding(pooling: str) -> None:
    texts, attention = ragged(D, (7, 7, 7)), build_attention()
    states, weights = compute_report(attention, texts.states)
    pool, pool_all = POOLINGS[pooling]
    assert close(attention(texts).states, states)
    assert close(attention.weights(texts), weights)
    assert close(pool(attention(texts).states, texts.mask), pool_all(states))


@pytest.mark.parametrize("pooling", POOLINGS)
def test_error_padding_is_attended_to_and_pooled(pooling: str) -> None:
    texts, attention = ragged(D, (7, 7, 7)), build_attention()
    longer = padded(texts, 4)
    pool, pool_all = POOLINGS[pooling]
    changed = pool_all(compute_report(attention, longer.states)[0])
    assert not torch.allclose(changed, pool_all(compute_report(attention, texts.states)[0]), atol=0.01)
    assert close(pool(attention(longer).states, longer.mask), pool(attention(texts).states, texts.mask))


def test_error_zero_vectors_of_padding_have_weight() -> None:
    """The score of a zero vector is 0 for every token, and exp(0) is 1."""
    texts = ragged(D, (7,))
    longer = Encoded(F.pad(texts.states, (0, 0, 0, 11)), F.pad(texts.mask, (0, 11)), texts.summary)
    unmasked = (longer.states @ longer.states.transpose(1, 2) / D**0.5).softmax(-1)
    assert unmasked[0, :7, 7:].sum(-1).max() > 0.3
    assert not SimpleSelfAttention(D).weights(longer)[..., 7:].any()


def test_error_weights_include_dropout() -> None:
    """The report's weights do not sum to 1 in training; those of Heed are computed separately and sum to 1."""
    texts, attention = ragged(D, (7, 7, 7)), build_attention(dropout=0.5)
    dropped = F.dropout(compute_report(attention, texts.states)[1], 0.5)
    assert (dropped.sum(-1) - 1).abs().max() > 0.1
    assert close(attention.train().weights(texts).sum(-1), torch.ones(3, H, 7, dtype=torch.float64))


def test_error_pooled_features_ignore_the_order_of_words() -> None:
    """There is no positional encoding, so a text and its reverse have the same pooled features."""
    texts, attention = ragged(D, (7, 7, 7)), build_attention()
    reversed_texts = texts._replace(states=texts.states.flip(1))
    for pool, _ in POOLINGS.values():
        assert close(pool(attention(reversed_texts).states, texts.mask), pool(attention(texts).states, texts.mask))

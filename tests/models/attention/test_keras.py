"""Keras' scores against loops in float64 and against Keras on its torch backend.

This backend multiplies matrices in float32 even if all inputs are float64, so the comparison with Keras' `Attention`
has a tolerance of 1e-6. Keras' `MultiHeadAttention` uses einsum, which computes in float64.
"""

import pytest
import torch

from src.models.attention.keras import KerasAttention
from src.models.attention.multi_head import MultiHeadAttention
from src.models.attention.qkv import QkvAttention
from tests.keras_reference import keras
from tests.models.reference import attend, close, ragged

D = 5
FLOAT32 = 1e-6
MODES = [("dot", False), ("dot", True), ("concat", False), ("concat", True)]


def build_attention(score_mode: str, use_scale: bool) -> KerasAttention:
    attention = KerasAttention(D, score_mode=score_mode, use_scale=use_scale).double()  # type: ignore[arg-type]
    with torch.no_grad():
        if attention.scale is not None:
            assert attention.scale == 1.0
            attention.scale.fill_(0.7)
        if attention.concat_weight is not None:
            assert attention.concat_weight == 1.0
            attention.concat_weight.fill_(-1.3)
    return attention


@pytest.mark.parametrize(("score_mode", "use_scale"), MODES)
def test_states_and_weights_follow_the_formula(score_mode: str, use_scale: bool) -> None:
    texts, attention = ragged(D), build_attention(score_mode, use_scale)
    s = 0.7 if use_scale else 1.0

    def score(query: torch.Tensor, key: torch.Tensor) -> float:
        if score_mode == "dot":
            return s * float(query @ key)
        return -1.3 * sum(float(torch.tanh(s * (query[d] + key[d]))) for d in range(D))

    x = texts.states
    weights, expected = attend(x, x, x, texts.mask, score)
    with torch.no_grad():
        assert close(attention.weights(texts)[:, 0], weights)
        assert close(attention(texts).states, expected)


@pytest.mark.parametrize(("score_mode", "use_scale"), MODES)
def test_states_and_weights_equal_those_of_keras(score_mode: str, use_scale: bool) -> None:
    texts, attention = ragged(D), build_attention(score_mode, use_scale)
    layer = keras().layers.Attention(score_mode=score_mode, use_scale=use_scale, dtype="float64")
    layer.build([texts.states.shape, texts.states.shape])
    if use_scale:
        layer.scale.assign(0.7)
    if score_mode == "concat":
        layer.concat_score_weight.assign(-1.3)
    with torch.no_grad():
        expected, weights = layer(
            [texts.states, texts.states], mask=[texts.mask, texts.mask], return_attention_scores=True
        )
        assert close(attention(texts).states, expected.double(), FLOAT32)
        real = texts.mask.unsqueeze(-1)  # Keras does not set the rows of padding to zero
        assert close(attention.weights(texts)[:, 0], weights.double() * real, FLOAT32)


def test_projected_attention_equals_keras() -> None:
    """The second example of the Keras document: three Dense layers of A units, then Attention() without a scale."""
    texts, units = ragged(D), 11
    attention = QkvAttention(D, attention_units=units, scale="none").double()
    layers = []
    for linear in (attention.queries, attention.keys, attention.values):
        dense = keras().layers.Dense(units, dtype="float64")
        dense.build(texts.states.shape)
        dense.set_weights([linear.weight.detach().T.numpy(), linear.bias.detach().numpy()])
        layers.append(dense)
    with torch.no_grad():
        query, key, value = (dense(texts.states) for dense in layers)
        expected = keras().layers.Attention(dtype="float64")([query, value, key], mask=[texts.mask, texts.mask])
        assert close(attention(texts).states, expected.double(), FLOAT32)


def test_multi_head_attention_equals_keras() -> None:
    heads, dim = 3, 15
    texts = ragged(dim)
    attention = MultiHeadAttention(dim, heads=heads).double()
    layer = keras().layers.MultiHeadAttention(heads, dim // heads, dtype="float64")
    layer.build(texts.states.shape, texts.states.shape)
    weight = attention.projections.weight.detach().unflatten(0, (3, heads, dim // heads))  # 3×H×d×D
    bias = attention.projections.bias.detach().unflatten(0, (3, heads, dim // heads))
    parameters = [tensor for kind in range(3) for tensor in (weight[kind].permute(2, 0, 1), bias[kind])]
    output = attention.output
    parameters += [output.weight.detach().T.unflatten(0, (heads, dim // heads)), output.bias.detach()]
    layer.set_weights([tensor.numpy() for tensor in parameters])
    with torch.no_grad():
        expected, weights = layer(
            texts.states, texts.states, attention_mask=texts.mask[:, None], return_attention_scores=True
        )
        real = texts.mask[:, :, None]
        assert close(attention(texts).states, expected * real)
        assert close(attention.weights(texts), weights * real[:, None])


def test_other_score_modes_are_refused() -> None:
    with pytest.raises(ValueError, match="score_mode='general' must be one of dot, concat"):
        KerasAttention(D, score_mode="general")  # type: ignore[arg-type]

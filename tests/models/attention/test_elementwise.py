import math

import pytest
import torch
from torch import nn

from src.models.attention.elementwise import ElementwiseAttention
from src.models.attention.global_vector import GlobalVector
from tests.models.reference import close, padded, ragged, softmax

D, E = 5, 11
GATES = {"tanh": math.tanh, "sigmoid": lambda x: 1 / (1 + math.exp(-x)), "linear": lambda x: x}


def gathered(vector: GlobalVector, states: torch.Tensor, mask: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """E before its norm, N×De, and the weights N×De×L, by loops."""
    attention, values = states @ vector.scores.weight.T, states @ vector.values.weight.T  # N×L×De each
    weights = torch.zeros(len(mask), attention.shape[2], mask.shape[1], dtype=torch.float64)
    gathered = torch.zeros(weights.shape[:2], dtype=torch.float64)
    for n in range(len(mask)):
        real = [t for t in range(mask.shape[1]) if mask[n, t]]
        for e in range(attention.shape[2]):
            for t, weight in zip(real, softmax([float(attention[n, t, e]) for t in real]), strict=True):
                weights[n, e, t] = weight
                gathered[n, e] += weight * values[n, t, e]
    return gathered, weights


@pytest.mark.parametrize("gate", GATES)
@pytest.mark.parametrize("vector_norm", ["none", "layer", "batch"])
@pytest.mark.parametrize("width", [None, E])
def test_formula(gate: str, vector_norm: str, width: int | None) -> None:
    texts = ragged(D)
    torch.manual_seed(0)
    attention = ElementwiseAttention(
        D,
        expanded_dim=width,
        gate=gate,  # type: ignore[arg-type]
        vector_norm=vector_norm,  # type: ignore[arg-type]
        norm="none",
        residual=True,
    ).double()
    with torch.no_grad():
        vector, weights = gathered(attention.mixing.vector, texts.states, texts.mask)
        if vector_norm != "none":
            axis = 1 if vector_norm == "layer" else 0
            centred = vector - vector.mean(axis, keepdim=True)
            vector = centred / (centred.square().mean(axis, keepdim=True) + 1e-5).sqrt()
        gated = vector.clone().apply_(GATES[gate])
        expected = texts.states.clone()
        for n, t in texts.mask.nonzero().tolist():
            read = attention.mixing.retrieval.weight @ texts.states[n, t] + attention.mixing.retrieval.bias
            expected[n, t] += attention.mixing.output.weight @ (read * gated[n])
        expected[~texts.mask] = 0.0
        out = attention(texts)
        assert close(out.states, expected)
        projected = attention.summary(vector)
        assert isinstance(attention.summary, nn.Linear) == (width is not None)
        assert close(out.summary, projected)
        assert close(attention.weights(texts)[:, :, 0], weights)
    assert attention.weights(texts).shape == (3, width or D, 1, 7)
    assert attention.output_dim == D


def test_prenorm_is_read_by_the_vector_the_retrieval_and_the_weights() -> None:
    texts = ragged(D)
    attention = ElementwiseAttention(D, norm="pre", residual=False).double()
    bare = ElementwiseAttention(D, norm="none", residual=False).double()
    bare.load_state_dict({k: v for k, v in attention.state_dict().items() if not k.startswith("around")})
    normed = texts._replace(states=nn.functional.layer_norm(texts.states, [D]))
    with torch.no_grad():
        assert close(attention(texts).states, bare(normed).states)
        assert close(attention(texts).summary, bare(normed).summary)
        assert close(attention.weights(texts), bare.weights(normed))


def test_batch_norm_sees_no_padding_and_survives_a_batch_of_one() -> None:
    torch.manual_seed(0)
    texts = ragged(D)
    attention = ElementwiseAttention(D, vector_norm="batch").double()
    short = attention(texts)
    assert close(attention(padded(texts, 4)).summary, short.summary)
    norm = attention.mixing.vector.norm
    assert isinstance(norm, nn.BatchNorm1d) and norm.running_mean is not None
    before = norm.running_mean.clone()
    one = ragged(D, (3,))
    trained = attention(one)
    assert torch.equal(norm.running_mean, before)
    assert close(trained.summary, attention.eval()(one).summary)


def test_order_of_tokens_does_not_matter() -> None:
    texts = ragged(D, (7, 7))
    attention = ElementwiseAttention(D).double()
    turned = texts._replace(states=texts.states.flip(1))
    with torch.no_grad():
        assert close(attention(turned).states, attention(texts).states.flip(1))
        assert close(attention(turned).summary, attention(texts).summary)


def test_options_out_of_range_are_refused() -> None:
    with pytest.raises(ValueError, match="gate='relu' must be one of tanh, sigmoid, linear"):
        ElementwiseAttention(D, gate="relu")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="vector_norm='group' must be one of none, layer, batch"):
        ElementwiseAttention(D, vector_norm="group")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="the global vector must have at least 1 feature, not 0"):
        ElementwiseAttention(D, expanded_dim=0)

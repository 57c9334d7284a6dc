import math
from typing import Any

import pytest
import torch
from torch import nn

from heedful.models.attention.elementwise import ElementwiseAttention, GlobalVector
from tests.models.reference import close, padded, ragged, softmax

D, E = 5, 11
GATES = {"tanh": math.tanh, "sigmoid": lambda x: 1 / (1 + math.exp(-x)), "linear": lambda x: x}


def compute_vectors(
    module: GlobalVector, states: torch.Tensor, mask: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """E before its norm, N×De, and the weights N×De×L, computed by loops."""
    attention, values = states @ module.scores.weight.T, states @ module.values.weight.T  # N×L×De each
    weights = torch.zeros(len(mask), attention.shape[2], mask.shape[1], dtype=torch.float64)
    vectors = torch.zeros(weights.shape[:2], dtype=torch.float64)
    for n in range(len(mask)):
        real = [t for t in range(mask.shape[1]) if mask[n, t]]
        for e in range(attention.shape[2]):
            for t, weight in zip(real, softmax([float(attention[n, t, e]) for t in real]), strict=True):
                weights[n, e, t] = weight
                vectors[n, e] += weight * values[n, t, e]
    return vectors, weights


@pytest.mark.parametrize("gate", GATES)
@pytest.mark.parametrize("vector_norm", ["none", "layer", "batch"])
@pytest.mark.parametrize("expanded_dim", [None, E])
def test_states_and_weights_follow_the_formula(gate: str, vector_norm: str, expanded_dim: int | None) -> None:
    texts = ragged(D)
    torch.manual_seed(0)
    options: Any = {"expanded_dim": expanded_dim, "gate": gate, "vector_norm": vector_norm}
    attention = ElementwiseAttention(D, **options).double()
    with torch.no_grad():
        vector, weights = compute_vectors(attention.vector, texts.states, texts.mask)
        if vector_norm != "none":
            axis = 1 if vector_norm == "layer" else 0
            centred = vector - vector.mean(axis, keepdim=True)
            vector = centred / (centred.square().mean(axis, keepdim=True) + 1e-5).sqrt()
        gated = vector.clone().apply_(GATES[gate])
        expected = torch.zeros_like(texts.states)
        for n, t in texts.mask.nonzero().tolist():
            retrieved = attention.retrieval.weight @ texts.states[n, t] + attention.retrieval.bias
            expected[n, t] = attention.output.weight @ (retrieved * gated[n])
        output = attention(texts)
        assert close(output.states, expected)
        projected = attention.summary(vector)
        assert isinstance(attention.summary, nn.Linear) == (expanded_dim is not None)
        assert close(output.summary, projected)
        assert close(attention.weights(texts)[:, :, 0], weights)
    assert attention.weights(texts).shape == (3, expanded_dim or D, 1, 7)
    assert attention.output_dim == D


def test_batch_norm_ignores_padding_and_is_not_updated_by_a_single_text() -> None:
    torch.manual_seed(0)
    texts = ragged(D)
    attention = ElementwiseAttention(D, vector_norm="batch").double()
    output = attention(texts)
    assert close(attention(padded(texts, 4)).summary, output.summary)
    norm = attention.vector.norm
    assert isinstance(norm, nn.BatchNorm1d) and norm.running_mean is not None
    before = norm.running_mean.clone()
    single_text = ragged(D, (3,))
    output = attention(single_text)
    assert torch.equal(norm.running_mean, before)
    assert close(output.summary, attention.eval()(single_text).summary)

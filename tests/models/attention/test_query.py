"""Attention mechanisms with a single query against their formulas, computed by loops in float64."""

import math
from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from heedful.models.attention.additive import BahdanauAttention, LuongConcatAttention
from heedful.models.attention.edge_query import EdgeQueryAttention
from heedful.models.attention.query import (
    LearnedQueryAttention,
    LuongDotAttention,
    LuongGeneralAttention,
    QueryAttention,
    UniformAttention,
)
from heedful.models.component import Encoded, zero_padding
from tests.models.reference import attend, ragged

N, T, D, A = 3, 5, 7, 11


@pytest.fixture
def encoded() -> Encoded:
    return ragged(D, (5, 2, 3))


def compute_by_loops(encoded: Encoded, score: Callable[[Tensor, Tensor], float]) -> tuple[Tensor, Tensor]:
    """Weights N×T and contexts N×D for a score of one query and one state; every text has a first token."""
    queries = encoded.summary.unsqueeze(1).expand_as(encoded.states)
    weights, contexts = attend(queries, encoded.states, encoded.states, encoded.mask, score)
    return weights[:, 0], contexts[:, 0]


def assert_follows_formula(
    attention: QueryAttention, encoded: Encoded, score: Callable[[Tensor, Tensor], float]
) -> None:
    with torch.no_grad():
        weights, contexts = compute_by_loops(encoded, score)
        output = attention(encoded)
        assert torch.allclose(attention.weights(encoded)[:, 0, 0], weights, rtol=0, atol=1e-10)
    assert torch.allclose(output.states[:, 0], contexts, rtol=0, atol=1e-10)
    assert torch.equal(output.summary, output.states[:, 0])
    assert output.mask.tolist() == [[True]] * N


def additive_score(attention: LuongConcatAttention, query: Tensor, state: Tensor) -> float:
    """vᵀ tanh(W [h; s] + b), where W concatenates the two projections."""
    concatenated = torch.cat([attention.keys.weight, attention.query.weight], 1)  # A×2D
    inside = concatenated @ torch.cat([state, query])
    if attention.keys.bias is not None:
        inside = inside + attention.keys.bias
    return float(attention.energy.weight[0] @ torch.tanh(inside))


@pytest.mark.parametrize("kind", [BahdanauAttention, LuongConcatAttention])
@pytest.mark.parametrize("bias", [True, False])
def test_additive_scores_follow_the_formula(kind: type[LuongConcatAttention], bias: bool, encoded: Encoded) -> None:
    attention = kind(D, attention_dim=A, bias=bias).double()
    assert sum(p.numel() for p in attention.parameters()) == 2 * D * A + A + (A if bias else 0)
    assert_follows_formula(attention, encoded, lambda q, h: additive_score(attention, q, h))


def test_dot_general_and_uniform_scores_follow_the_formula(encoded: Encoded) -> None:
    assert_follows_formula(LuongDotAttention(D), encoded, lambda q, h: float(q @ h))
    assert_follows_formula(LuongDotAttention(D, scaled=True), encoded, lambda q, h: float(q @ h) / math.sqrt(D))
    assert_follows_formula(UniformAttention(D), encoded, lambda q, h: 0.0)
    general = LuongGeneralAttention(D).double()
    assert_follows_formula(general, encoded, lambda q, h: float(q @ general.general.weight @ h))


def test_learned_query_attention_is_initially_uniform_and_follows_the_formula(encoded: Encoded) -> None:
    attention = LearnedQueryAttention(D).double()
    assert torch.equal(attention.weights(encoded), UniformAttention(D).weights(encoded))  # before training
    with torch.no_grad():
        attention.question.copy_(torch.linspace(-1, 2, D))
    assert_follows_formula(attention, encoded, lambda q, h: float(attention.question @ h))


@pytest.mark.parametrize("steps", [1, 3, 9])
def test_scores_of_a_learned_query_include_the_distance_to_either_end(steps: int) -> None:
    generator = torch.Generator().manual_seed(1)
    states = torch.randn(2, 13, D, dtype=torch.float64, generator=generator)
    lengths = (13, 6)
    mask = torch.arange(13) < torch.tensor(lengths).unsqueeze(1)
    attention = EdgeQueryAttention(D, edge_steps=steps, scaled=True).double()
    assert torch.equal(attention.edges, torch.zeros(2, steps, dtype=torch.float64))
    with torch.no_grad():
        attention.question.copy_(torch.linspace(-1, 2, D))
        attention.edges.normal_(generator=generator)
        weights = attention.weights(Encoded(states, mask, states[:, 0]))[:, 0, 0]
        beginning, end = attention.edges
        for n, length in enumerate(lengths):
            scores = [
                float(attention.question @ states[n, t]) / math.sqrt(D)
                + float(beginning[min(int(math.log2(t + 1)), steps - 1)])
                + float(end[min(int(math.log2(length - t)), steps - 1)])
                for t in range(length)
            ]
            expected = torch.softmax(torch.tensor(scores, dtype=torch.float64), 0)
            assert torch.allclose(weights[n, :length], expected, rtol=0, atol=1e-12)
            assert not weights[n, length:].any()


def test_a_reference_length_scales_the_context_by_the_root_of_the_length() -> None:
    states = torch.randn(2, 13, D, dtype=torch.float64, generator=torch.Generator().manual_seed(2))
    mask = torch.arange(13) < torch.tensor([[13], [5]])
    encoded = Encoded(zero_padding(states, mask), mask, states[:, 0])
    plain, scaled = (EdgeQueryAttention(D, reference_length=length).double() for length in (None, 7.0))
    factors = torch.tensor([[math.sqrt(13 / 7)], [math.sqrt(5 / 7)]], dtype=torch.float64)
    with torch.no_grad():
        expected = plain(encoded).summary * factors
        assert torch.allclose(scaled(encoded).summary, expected, rtol=0, atol=1e-12)
        assert torch.equal(scaled(encoded).states[:, 0], scaled(encoded).summary)
        weights = plain.weights(encoded)
        assert torch.equal(scaled.weights(encoded), weights)
        assert torch.allclose(scaled.mix(encoded, weights).summary, expected, rtol=0, atol=1e-12)


def test_the_attentional_vector_follows_the_formula(encoded: Encoded) -> None:
    """Luong et al. 2015, eq. 5: tanh(W_c [c; q])."""
    attention = LuongDotAttention(D, attentional=True).double()
    _, contexts = compute_by_loops(encoded, lambda q, h: float(q @ h))
    with torch.no_grad():
        expected = torch.tanh(torch.cat([contexts, encoded.summary], 1) @ attention.combine.weight.T)
        assert torch.allclose(attention(encoded).summary, expected, rtol=0, atol=1e-10)


def test_dropout_applies_only_in_training_and_preserves_the_mean(encoded: Encoded) -> None:
    torch.manual_seed(0)
    attention = UniformAttention(D, dropout=0.5)
    repeated = Encoded(*(None if part is None else part.repeat(2000, *[1] * (part.dim() - 1)) for part in encoded[:3]))
    training_summaries = attention(repeated).summary.unflatten(0, (2000, -1))
    attention.eval()
    expected = attention(encoded).summary
    assert not torch.allclose(training_summaries[0], expected)
    assert torch.allclose(training_summaries.mean(0), expected, atol=0.1)

"""Hierarchical attention against its formulas, computed sentence by sentence in float64."""

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from heedful import load
from heedful.data.padded_batches import Inputs
from heedful.models.attention.hierarchical import HierarchicalAttention
from heedful.models.component import Encoded
from heedful.runtime import MARK
from tests.helpers import train
from tests.models.reference import ragged, softmax

VOCABULARY = ("<pad>", "a", "b", ".", "!", "?", "…", "。", MARK, "...", "Ġ!?", "▁.", "?</w>", ".5", "Ġ", "")
D, HIDDEN, A = 7, 3, 5
TEXTS = ("a b . a . . ! b b a ?", "a", ". a ? b")  # sentences of 3, 4 and 4 tokens; of 1; of 1, 2 and 1
SENTENCES = ([(0, 3), (3, 7), (7, 11)], [(0, 1)], [(0, 1), (1, 3), (3, 4)])


def build(**options: Any) -> HierarchicalAttention:
    torch.manual_seed(0)
    attention = HierarchicalAttention(D, **{"hidden_dim": HIDDEN, "attention_dim": A, **options}).double().eval()
    attention.bind(VOCABULARY, 2)
    return attention


def read(*texts: str, second: int | None = None) -> Inputs:
    """Texts of tokens of the vocabulary, padded with <pad>; the second text of a pair starts at token `second`."""
    rows = [[VOCABULARY.index(token) for token in text.split()] for text in texts]
    ids = torch.nn.utils.rnn.pad_sequence([torch.tensor(row) for row in rows], batch_first=True)
    segments = None if second is None else (torch.arange(ids.shape[1]) >= second).long().expand_as(ids) * (ids > 0)
    return Inputs(ids, ids > 0, segments)


def encode(attention: HierarchicalAttention) -> Encoded:
    inputs = read(*TEXTS)
    encoded = ragged(D, tuple(inputs.mask.sum(1).tolist()))
    return encoded._replace(traits=attention.traits(inputs, encoded.states))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a b a", [0, 0, 0]),  # a text without ends
        ("a . b ! a ?", [0, 0, 1, 1, 2, 2]),
        ("a . . . b ? ! … 。 a", [0, 0, 0, 0, 1, 1, 1, 1, 1, 2]),  # a run ends one sentence
        (". . a", [0, 0, 1]),
        ("a ... b Ġ!? a ▁. b ?</w> a", [0, 0, 1, 1, 2, 2, 3, 3, 4]),  # with the marks of subwords
        ("a .5 b Ġ a", [0, 0, 0, 0, 0]),
        ("a . b . a . b . a", [0, 0, 1, 1, 2, 2, 3, 3, 4]),
        ("a . b . a . b . a . b . a", [0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 4, 4, 4]),  # more than max_sentences
        (f"a . {MARK} b", [0, 0, 0, 1]),
    ],
)
def test_sentences_by_hand(text: str, expected: list[int]) -> None:
    inputs = read(text)
    assert build(max_sentences=5).traits(inputs, torch.empty(0)).tolist() == [expected]


def test_the_second_text_of_a_pair_starts_a_sentence() -> None:
    assert build().traits(read("a b a . b", second=2), torch.empty(0)).tolist() == [[0, 0, 1, 1, 2]]


def gru(rnn: Any, inputs: list[Tensor]) -> list[Tensor]:
    """The states of a GRU: h' = (1 − z) ∘ n + z ∘ h with n = tanh(W_n x + b_n + r ∘ (U_n h + c_n))."""
    state, states = torch.zeros(HIDDEN, dtype=torch.float64), []
    for vector in inputs:
        r, z, n = (rnn.weight_ih_l0 @ vector + rnn.bias_ih_l0).split(HIDDEN)
        own_r, own_z, own_n = (rnn.weight_hh_l0 @ state + rnn.bias_hh_l0).split(HIDDEN)
        update = torch.sigmoid(z + own_z)
        state = (1 - update) * torch.tanh(n + torch.sigmoid(r + own_r) * own_n) + update * state
        states.append(state)
    return states


def scores(layers: Any, vectors: list[Tensor]) -> list[float]:
    return [float(layers[2].weight[0] @ torch.tanh(layers[0].weight @ h + layers[0].bias)) for h in vectors]


def reference(attention: HierarchicalAttention, words: list[list[float]], states: Tensor, row: int) -> list[Tensor]:
    """The states g_i of the sentences of a text, for the weights of the words of each."""
    sentences = []
    for weights, (start, stop) in zip(words, SENTENCES[row], strict=True):
        sentences.append(torch.tensor(weights, dtype=torch.float64) @ states[start:stop])
    forward: Any = attention.encoder.forwards[0]
    backward: Any = attention.encoder.backwards[0]
    pairs = zip(gru(forward, sentences), reversed(gru(backward, sentences[::-1])), strict=True)
    return [torch.cat(pair) for pair in pairs]


@torch.no_grad()
def test_weights_and_output_follow_the_formulas() -> None:
    attention = build()
    encoded = encode(attention)
    weights, output = attention.weights(encoded), attention(encoded)
    assert weights.shape == (3, 1, 1, 11) and output.states.shape == (3, 1, 2 * HIDDEN)
    for n, spans in enumerate(SENTENCES):
        states = encoded.states[n]
        words = [softmax(scores(attention.word_scores, list(states[a:b]))) for a, b in spans]
        read_sentences = reference(attention, words, states, n)
        sentences = softmax(scores(attention.sentence_scores, read_sentences))
        expected = [beta * alpha for beta, own in zip(sentences, words, strict=True) for alpha in own]
        assert weights[n, 0, 0].tolist() == pytest.approx(expected + [0.0] * (11 - len(expected)), abs=1e-12)
        context = sum(beta * state for beta, state in zip(sentences, read_sentences, strict=True))
        torch.testing.assert_close(output.states[n, 0], context)
    assert torch.equal(output.summary, output.states[:, 0]) and output.mask.all()
    torch.testing.assert_close(attention.mix(encoded, weights), output)


@torch.no_grad()
def test_given_weights_are_divided_into_words_and_sentences() -> None:
    """β_i is the sum over a sentence; without weight, the GRU reads the sentence with the attention's own weights."""
    attention = build()
    encoded = encode(attention)
    given = torch.tensor([0.1, 0.0, 0.3, 0.0, 0.0, 0.0, 0.0, 0.2, 0.2, 0.2, 0.0], dtype=torch.float64)
    states, spans = encoded.states[0], SENTENCES[0]
    own = softmax(scores(attention.word_scores, list(states[slice(*spans[1])])))
    words = [[0.25, 0.0, 0.75], own, [1 / 3, 1 / 3, 1 / 3, 0.0]]
    first, _, third = reference(attention, words, states, 0)
    mixed = attention.mix(encoded, given.expand(3, 1, 1, 11))
    torch.testing.assert_close(mixed.summary[0], 0.4 * first + 0.6 * third)


def test_the_output_is_differentiable_by_the_given_weights() -> None:
    attention = build()
    encoded = encode(attention)
    weights = attention.weights(encoded).detach().requires_grad_()
    assert torch.autograd.gradcheck(lambda given: attention.mix(encoded, given).summary, weights)


@torch.no_grad()
def test_a_text_without_tokens_and_tiny_weights_give_finite_outputs() -> None:
    attention = build().float()
    encoded = encode(attention)
    states, summary = encoded.states.float(), encoded.summary.float()
    empty = Encoded(states, torch.zeros_like(encoded.mask), summary, encoded.traits)
    assert not attention(empty).summary.any() and not attention(empty).mask.any()
    encoded = encoded._replace(states=states, summary=summary)
    for tiny in (1e-12, 1e-25, 1e-44, 0.0):
        mixed = attention.mix(encoded, torch.full((3, 1, 1, 11), tiny))
        assert mixed.summary.isfinite().all() and float(mixed.summary.abs().max()) <= 11 * tiny


def test_dropout_is_applied_to_words_and_to_sentences_while_training() -> None:
    attention = build(dropout=0.5).train()
    encoded = encode(attention)
    single = encoded._replace(states=encoded.states[1:2, :1], mask=encoded.mask[1:2, :1], traits=None)
    (state,) = reference(attention, [[2.0]], single.states[0], 1)  # a kept weight is doubled
    (bias,) = reference(attention, [[0.0]], single.states[0], 1)
    outputs = torch.cat([attention(single).summary for _ in range(40)])
    expected = {tuple((factor * each).tolist()) for each in (state, bias) for factor in (0.0, 2.0)}
    for output in outputs:
        assert any(output.tolist() == pytest.approx(each, abs=1e-9) for each in expected)
    assert len({tuple(row) for row in outputs.mul(1e6).round().tolist()}) == 3  # 0, and both states of the GRU


def test_a_trained_model_weighs_words_within_sentences(tmp_path: Path) -> None:
    options = ("model/attention=hierarchical", "model.attention.max_sentences=2", "trainer.precision=bf16-mixed")
    assert train(tmp_path / "run", *options, "callbacks=checkpoints")["status"] == "completed"
    first, empty = load(str(tmp_path / "run")).predict(["A great product. I use it daily! It works.", ""])
    assert sum(weight for _, weight in first.tokens) == pytest.approx(1, abs=1e-6)
    assert empty.label is None and not empty.tokens

"""The errors of the twenty-model report; the tests of encoders and query attentions cover its formulas."""

import pytest
import torch
from torch import nn

from src.models.attention.additive import BahdanauAttention, LuongConcatAttention
from src.models.attention.query import LuongDotAttention
from src.models.component import Encoded
from src.models.encoder.recurrent import Recurrent
from tests.models.reference import close, padded, ragged

D, HIDDEN = 5, 7


def test_error_two_of_the_four_attentions_are_the_same() -> None:
    """The code of Bahdanau and Luong concat is the same: there are sixteen models, four of which are trained twice."""
    texts = ragged(D)
    torch.manual_seed(0)
    bahdanau = BahdanauAttention(D, bias=True).double()
    concat = LuongConcatAttention(D, bias=True).double()
    concat.load_state_dict(bahdanau.state_dict())
    assert torch.equal(concat(texts).states, bahdanau(texts).states)
    assert torch.equal(concat.weights(texts), bahdanau.weights(texts))


@pytest.mark.parametrize("bidirectional", [False, True])
def test_error_the_last_hidden_state_depends_on_padding(bidirectional: bool) -> None:
    texts = ragged(D, (7, 7, 7))
    longer = padded(texts, 11)
    torch.manual_seed(0)
    encoder = Recurrent(D, hidden_dim=HIDDEN, bidirectional=bidirectional).double()
    reference = nn.LSTM(D, HIDDEN, batch_first=True, bidirectional=bidirectional, dtype=torch.float64)
    last = [reference(states)[1][0] for states in (texts.states, longer.states)]
    assert not torch.allclose(last[0], last[1], atol=0.01)
    assert close(encoder(longer.states, longer.mask).summary, encoder(texts.states, texts.mask).summary)


def test_error_padding_has_weight() -> None:
    texts = ragged(D, (7, 7, 7))
    longer = padded(texts, 11)
    scores = (longer.states @ longer.summary.unsqueeze(-1)).squeeze(-1)
    assert scores.softmax(-1)[:, 7:].sum(-1).max() > 0.3
    weights = LuongDotAttention(D).weights(longer)
    assert not weights[..., 7:].any()
    assert close(weights[..., :7], LuongDotAttention(D).weights(texts))


def test_error_the_additive_scores_are_initially_saturated() -> None:
    """A standard deviation of 1 for the 256 features of v_a gives weights far from uniform, unlike Heed's."""
    torch.manual_seed(0)
    dim, length = 256, 218
    states = 0.3 * torch.randn(3, length, dim)  # similar to the states of a BiLSTM, between -1 and 1
    texts = Encoded(states, torch.ones(3, length, dtype=torch.bool), states[:, -1])
    attention = BahdanauAttention(dim, bias=True)

    def effective_fraction() -> torch.Tensor:
        weights = attention.weights(texts)[:, 0, 0]
        return torch.special.entr(weights).sum(-1).exp() / length

    assert (effective_fraction() > 0.95).all()
    nn.init.normal_(attention.energy.weight)
    assert (effective_fraction() < 0.6).all()


def test_error_dot_attention_prefers_the_state_that_is_the_query() -> None:
    """The query of an RNN is its last state, which has the largest weight among states of the same norm."""
    states = nn.functional.normalize(ragged(D, (7, 7, 7)).states, dim=-1)
    texts = Encoded(states, torch.ones(3, 7, dtype=torch.bool), states[:, -1])
    assert LuongDotAttention(D).weights(texts)[:, 0, 0].argmax(-1).tolist() == [6, 6, 6]

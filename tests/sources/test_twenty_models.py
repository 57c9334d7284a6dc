"""The errors of the twenty-model report; the tests of encoders and query attentions cover its formulas."""

import pytest
import torch
from torch import nn
from torchmetrics.functional.classification import multiclass_accuracy, multiclass_f1_score

from src.models.attention.bahdanau import BahdanauAttention
from src.models.attention.luong_concat import LuongConcatAttention
from src.models.attention.luong_dot import LuongDotAttention
from src.models.encoder.recurrent import Recurrent
from src.models.types import Encoded
from tests.models.reference import close, padded, ragged

D, HIDDEN = 5, 7


def test_error_two_of_the_four_attentions_are_one() -> None:
    """Bahdanau's code is Luong concat's: sixteen models, not twenty, and four of them run twice."""
    texts = ragged(D)
    torch.manual_seed(0)
    bahdanau = BahdanauAttention(D, bias=True).double()
    concat = LuongConcatAttention(D, bias=True).double()
    concat.load_state_dict(bahdanau.state_dict())
    assert torch.equal(concat(texts).states, bahdanau(texts).states)
    assert torch.equal(concat.weights(texts), bahdanau.weights(texts))


@pytest.mark.parametrize("bidirectional", [False, True])
def test_error_the_last_hidden_state_has_read_padding(bidirectional: bool) -> None:
    texts = ragged(D, (7, 7, 7))
    longer = padded(texts, 11)
    torch.manual_seed(0)
    heed = Recurrent(D, hidden_dim=HIDDEN, bidirectional=bidirectional).double()
    peer = nn.LSTM(D, HIDDEN, batch_first=True, bidirectional=bidirectional, dtype=torch.float64)
    last = [peer(states)[1][0] for states in (texts.states, longer.states)]
    assert not torch.allclose(last[0], last[1], atol=0.01)
    assert close(heed(longer.states, longer.mask).summary, heed(texts.states, texts.mask).summary)


def test_error_padding_takes_a_share_of_the_weights() -> None:
    texts = ragged(D, (7, 7, 7))
    longer = padded(texts, 11)
    scores = (longer.states @ longer.summary.unsqueeze(-1)).squeeze(-1)
    assert scores.softmax(-1)[:, 7:].sum(-1).max() > 0.3
    heed = LuongDotAttention(D).weights(longer)
    assert not heed[..., 7:].any()
    assert close(heed[..., :7], LuongDotAttention(D).weights(texts))


def test_error_the_additive_scores_start_saturated() -> None:
    """v_a is drawn with spread 1 over 256 features: weights start far from equal, ours near to it."""
    torch.manual_seed(0)
    width, length = 256, 218
    states = 0.3 * torch.randn(3, length, width)  # a BiLSTM's, between -1 and 1
    texts = Encoded(states, torch.ones(3, length, dtype=torch.bool), states[:, -1])
    attention = BahdanauAttention(width, bias=True)

    def effective() -> torch.Tensor:
        weights = attention.weights(texts)[:, 0, 0]
        return torch.special.entr(weights).sum(-1).exp() / length

    assert (effective() > 0.95).all()
    nn.init.normal_(attention.energy.weight)
    assert (effective() < 0.6).all()


def test_error_the_query_answers_itself() -> None:
    """A one-way RNN's query is its last state: of states of one length, dot attention prefers that one."""
    states = nn.functional.normalize(ragged(D, (7, 7, 7)).states, dim=-1)
    texts = Encoded(states, torch.ones(3, 7, dtype=torch.bool), states[:, -1])
    assert LuongDotAttention(D).weights(texts)[:, 0, 0].argmax(-1).tolist() == [6, 6, 6]


def test_error_micro_f1_is_accuracy() -> None:
    """With one label a text every miss is one false positive and one false negative."""
    torch.manual_seed(0)
    predicted, labels = torch.randint(3, (2, 101))
    micro = multiclass_f1_score(predicted, labels, 3, average="micro")
    assert micro == multiclass_accuracy(predicted, labels, 3, average="micro")
    assert micro != multiclass_f1_score(predicted, labels, 3, average="macro")

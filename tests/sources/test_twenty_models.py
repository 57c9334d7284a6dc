"""The errors of the twenty-model report; the tests of encoders and query attentions cover its formulas."""

import torch
from torch import nn

from heedful.models.attention.additive import BahdanauAttention, LuongConcatAttention
from heedful.models.component import Encoded
from tests.models.reference import ragged

D = 5


def test_error_two_of_the_four_attentions_are_the_same() -> None:
    """The code of Bahdanau and Luong concat is the same: there are sixteen models, four of which are trained twice."""
    texts = ragged(D)
    torch.manual_seed(0)
    bahdanau = BahdanauAttention(D, bias=True).double()
    concat = LuongConcatAttention(D, bias=True).double()
    concat.load_state_dict(bahdanau.state_dict())
    assert torch.equal(concat(texts).states, bahdanau(texts).states)
    assert torch.equal(concat.weights(texts), bahdanau.weights(texts))


def test_error_the_additive_scores_are_initially_saturated() -> None:
    """A standard deviation of 1 for the 256 features of v_a gives weights far from uniform, unlike Heedful's."""
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

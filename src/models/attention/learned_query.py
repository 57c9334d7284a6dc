"""Attention whose question is learned once and asked of every text."""

import torch
from torch import Tensor, nn

from src.models.attention.query import QueryAttention


class LearnedQueryAttention(QueryAttention):
    """score(h) = uᵀ h, the learned question u instead of the text's summary (Lin et al. 2017, eq. 5, without tanh).

    u starts at zero, so the weights start uniform. What a token's state holds beyond a text's own summary, such as how
    telling a word is in general, is all that this attention sees; it costs D parameters.

    Args:
        input_dim: D, features of a state.
        scaled: divide the scores by √D.
        dropout: probability in [0, 1) of dropping a weight while training.
        attentional: return tanh(W_c [c; q]) with the text's summary q (Luong et al. 2015, eq. 5).
    """

    def __init__(
        self, input_dim: int, *, scaled: bool = False, dropout: float = 0.0, attentional: bool = False
    ) -> None:
        super().__init__(input_dim, scaled=scaled, dropout=dropout, attentional=attentional)
        self.question = nn.Parameter(torch.zeros(input_dim))

    def score(self, query: Tensor, keys: Tensor) -> Tensor:
        return keys @ self.question

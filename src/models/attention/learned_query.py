"""Attention whose question is learned once and asked of every text."""

import torch
from torch import Tensor, nn

from src.models.attention.query import QueryAttention
from src.models.types import Encoded


class LearnedQueryAttention(QueryAttention):
    """score(h) = uᵀ h, the learned question u instead of the text's summary (Lin et al. 2017, eq. 5, without tanh).

    u starts at zero, so the weights start uniform. What a token's state holds beyond a text's own summary, such as how
    telling a word is in general, is all that this attention sees; it costs D parameters.

    It may also learn where texts say what matters: a bias for how far from its beginning and one for how far from its
    end a token stands, in steps of 1, 2, 4, … tokens (as Raffel et al. 2020 widen those of relative positions).

    Args:
        input_dim: D, features of a state.
        edge_steps: steps B from either end, in [0, 32]; 2B parameters, which start at zero. Whatever is 2^(B-1) tokens
            away or more stands on the last one. 0 asks for no place.
        scaled: divide the scores by √D, without the biases.
        dropout: probability in [0, 1) of dropping a weight while training.
        attentional: return tanh(W_c [c; q]) with the text's summary q (Luong et al. 2015, eq. 5).

    Raises:
        ValueError: if an option is outside its range.
    """

    def __init__(
        self,
        input_dim: int,
        *,
        edge_steps: int = 0,
        scaled: bool = False,
        dropout: float = 0.0,
        attentional: bool = False,
    ) -> None:
        super().__init__(input_dim, scaled=scaled, dropout=dropout, attentional=attentional)
        if not 0 <= edge_steps <= 32:
            raise ValueError(f"edge_steps={edge_steps} must lie in [0, 32]")
        self.question = nn.Parameter(torch.zeros(input_dim))
        self.edges = nn.Parameter(torch.zeros(2, edge_steps)) if edge_steps else None  # from the beginning, the end

    def score(self, query: Tensor, keys: Tensor) -> Tensor:
        return keys @ self.question

    def _scores(self, encoded: Encoded) -> Tensor:
        scores = super()._scores(encoded)  # N×T
        if self.edges is None:
            return scores
        next_steps = 2 ** torch.arange(1, self.edges.shape[1], device=scores.device)  # where each begins
        read = encoded.mask.cumsum(1)  # N×T, from 1 on
        left = read[:, -1:] - read + 1
        beginning, end = (torch.bucketize(places, next_steps, right=True) for places in (read, left))
        return scores + (self.edges[0][beginning] + self.edges[1][end])  # padding gets any bias

"""Uniform weights: the baseline for claims about attention."""

from torch import Tensor

from src.models.attention.query import QueryAttention


class UniformAttention(QueryAttention):
    """Attention with equal scores for all tokens: the context vector is the mean of the real states."""

    def __init__(self, input_dim: int, *, dropout: float = 0.0, attentional: bool = False) -> None:
        super().__init__(input_dim, dropout=dropout, attentional=attentional)

    def score(self, query: Tensor, keys: Tensor) -> Tensor:
        return keys.new_zeros(keys.shape[:2])

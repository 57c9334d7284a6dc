"""The same weight for every token: what any claim about attention must beat."""

from torch import Tensor

from src.models.attention.query import QueryAttention


class UniformAttention(QueryAttention):
    """Scores that do not look at the text: the context is the mean of the real states."""

    def __init__(self, input_dim: int, *, dropout: float = 0.0, attentional: bool = False) -> None:
        super().__init__(input_dim, dropout=dropout, attentional=attentional)

    def score(self, query: Tensor, keys: Tensor) -> Tensor:
        return keys.new_zeros(keys.shape[:2])

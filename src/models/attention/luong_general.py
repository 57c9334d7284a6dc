"""General attention (Luong, Pham & Manning 2015)."""

import torch
from torch import Tensor, nn

from src.models.attention.query import QueryAttention


class LuongGeneralAttention(QueryAttention):
    """score(q, h) = qᵀ W_a h (Luong et al. 2015, section 3.1, 'general'; the twenty-model report's eq. 7)."""

    def __init__(
        self, input_dim: int, *, scaled: bool = False, dropout: float = 0.0, attentional: bool = False
    ) -> None:
        super().__init__(input_dim, scaled=scaled, dropout=dropout, attentional=attentional)
        self.general = nn.Linear(input_dim, input_dim, bias=False)

    def score(self, query: Tensor, keys: Tensor) -> Tensor:
        projected = query @ self.general.weight  # qᵀ W_a: projects one vector instead of T states
        return torch.einsum("nd,ntd->nt", projected, keys)

"""General attention (Luong, Pham & Manning 2015)."""

from typing import Any

import torch
from torch import Tensor, nn

from src.models.attention.query import QueryAttention


class LuongGeneralAttention(QueryAttention):
    """score(q, h) = qᵀ W_a h (Luong et al. 2015, section 3.1, 'general'; the twenty-model report's eq. 7)."""

    def __init__(self, input_dim: int, **options: Any) -> None:
        super().__init__(input_dim, **options)
        self.general = nn.Linear(input_dim, input_dim, bias=False)

    def score(self, query: Tensor, keys: Tensor) -> Tensor:
        projected = query @ self.general.weight  # qᵀ W_a: projects one vector instead of T states
        return torch.einsum("nd,ntd->nt", projected, keys)

"""Dot attention (Luong, Pham & Manning 2015)."""

import torch
from torch import Tensor

from src.models.attention.query import QueryAttention


class LuongDotAttention(QueryAttention):
    """score(q, h) = qᵀ h (Luong et al. 2015, section 3.1, 'dot'; the twenty-model report's eq. 4): no parameters."""

    def score(self, query: Tensor, keys: Tensor) -> Tensor:
        return torch.einsum("nd,ntd->nt", query, keys)

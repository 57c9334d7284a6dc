"""The additive score of Bahdanau's attention and Luong's concat attention."""

from typing import Any

import torch
from torch import Tensor, nn

from src.kernels.linear import Linear
from src.models.attention.query import QueryAttention


class AdditiveAttention(QueryAttention):
    """score(q, h) = vᵀ tanh(W [h; q] + b).

    The score is computed as vᵀ tanh(W_h h + W_q q + b), which projects the query q once per text, not once per state h.

    Args:
        attention_dim: A, size of the hidden layer; None means D, the number of features of a state.
        bias: add b inside the tanh.
        options: options of `QueryAttention`.

    Raises:
        ValueError: if an option is outside its range.
    """

    def __init__(self, input_dim: int, *, attention_dim: int | None = None, bias: bool = True, **options: Any) -> None:
        super().__init__(input_dim, **options)
        hidden = input_dim if attention_dim is None else attention_dim
        if hidden < 1:
            raise ValueError(f"attention_dim={attention_dim} must be at least 1")
        self.keys = Linear(input_dim, hidden, bias=bias)
        self.query = nn.Linear(input_dim, hidden, bias=False)
        self.energy = nn.Linear(hidden, 1, bias=False)

    def score(self, query: Tensor, keys: Tensor) -> Tensor:
        hidden = torch.tanh(self.keys(keys) + self.query(query).unsqueeze(1))  # N×T×A
        return self.energy(hidden).squeeze(-1)

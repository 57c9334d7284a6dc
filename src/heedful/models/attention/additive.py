"""The additive attention of Bahdanau, Cho & Bengio (2015), and Luong's concat attention, which has the same score."""

from typing import Any

import torch
from torch import Tensor, nn

from heedful.kernels.layers import Linear
from heedful.models.attention.query import QueryAttention, TaskScaling
from heedful.models.component import Rate, Size


class LuongConcatAttention(QueryAttention):
    """score(q, h) = vᵀ tanh(W_a [q; h] + b) (Luong et al. 2015, section 3.1, 'concat').

    The score is computed as vᵀ tanh(W_h h + W_q q + b), which projects the query q once per text, not once per state h.
    The paper uses the attentional vector (eq. 5), and the twenty-model report the context vector: see `attentional`.

    The code of the twenty-model report for eqs. 1 and 10 has a `bias` b inside the tanh, as here; the papers have none.
    """

    def __init__(self, input_dim: int, *, attention_dim: Size | None = None, bias: bool = True, **options: Any) -> None:
        super().__init__(input_dim, **options)
        hidden = attention_dim or input_dim
        self.keys = Linear(input_dim, hidden, bias=bias)
        self.query = nn.Linear(input_dim, hidden, bias=False)
        self.energy = nn.Linear(hidden, 1, bias=False)

    def score(self, query: Tensor, keys: Tensor) -> Tensor:
        hidden = torch.tanh(self.keys(keys) + self.query(query).unsqueeze(1))  # N×T×A
        return self.energy(hidden).squeeze(-1)


class BahdanauAttention(LuongConcatAttention):
    """score(q, h) = vᵀ tanh(W_a q + U_a h) (Bahdanau et al. 2015, appendix A.1.2); the text's summary is the query."""

    def __init__(
        self,
        input_dim: int,
        *,
        attention_dim: Size | None = None,
        bias: bool = True,
        scaled: bool = False,
        dropout: Rate = 0.0,
        task_scaling: TaskScaling = "none",
    ) -> None:  # without Luong's attentional vector
        options: dict[str, Any] = {"scaled": scaled, "dropout": dropout, "task_scaling": task_scaling}
        super().__init__(input_dim, attention_dim=attention_dim, bias=bias, **options)

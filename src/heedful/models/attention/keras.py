"""Self-attention with the scores of Keras' `Attention` layer, which are never divided by √D."""

from typing import Any

import torch
from torch import Tensor, nn

from heedful.models.attention.self_attention import SelfAttention
from heedful.models.position import Rotary


class KerasDotAttention(SelfAttention):
    """Self-attention softmax(score) x over the states x, with score_ij = s x_i·x_j.

    With `use_scale`, the scale s is learned; its initial value is 1.
    """

    def __init__(self, input_dim: int, *, use_scale: bool = False, **options: Any) -> None:
        super().__init__(input_dim, **options)
        self.scale = nn.Parameter(torch.ones(())) if use_scale else None

    def project(self, states: Tensor, mask: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        head = states.unsqueeze(1)  # N×1×L×D
        return head if self.scale is None else self.scale * head, head, head


class KerasConcatAttention(KerasDotAttention):
    """The same with score_ij = c Σ_d tanh(s (x_id + x_jd)) and a learned factor c; it stores a tensor N×L×L×D."""

    def __init__(self, input_dim: int, **options: Any) -> None:
        super().__init__(input_dim, **options)
        self.concat_weight = nn.Parameter(torch.ones(()))

    def use_rotary(self, rotary: Rotary) -> None:
        raise ValueError("concat attention adds queries to keys: rotary position embeddings need dot products")

    def project(self, states: Tensor, mask: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        keys, _, _ = super().project(states, mask)
        queries, _, values = super().project(states, mask)
        return queries, keys, values  # both are scaled: tanh(s (q + k)) = tanh(s q + s k)

    def score(self, queries: Tensor, keys: Tensor) -> Tensor:
        pairs = queries.unsqueeze(-2) + keys.unsqueeze(-3)  # N×1×L×L×D
        return self.concat_weight * torch.tanh(pairs).sum(-1)

"""Self-attention with the scores of Keras' `Attention` layer."""

from typing import Any, Literal

import torch
from torch import Tensor, nn

from src.models.attention.dot_product import DotProductAttention
from src.models.masking import masked_softmax
from src.models.position.rotary import Rotary


class KerasAttention(DotProductAttention):
    """Self-attention softmax(score) x over the states x, with the scores of `keras.layers.Attention`.

    Args:
        score_mode: `dot` computes s x_i·x_j; `concat` computes c Σ_d tanh(s (x_id + x_jd)), and stores a tensor
            N×L×L×D. The factor c is learned, with initial value 1; `use_scale` explains s.
        use_scale: learn the scale s, with initial value 1; False fixes s at 1. The scores are never divided by √D.
        options: options of `SelfAttention`.

    Raises:
        ValueError: if an option is outside its range.
    """

    def __init__(
        self, input_dim: int, *, score_mode: Literal["dot", "concat"] = "dot", use_scale: bool = False, **options: Any
    ) -> None:
        if score_mode not in ("dot", "concat"):
            raise ValueError(f"score_mode={score_mode!r} must be one of dot, concat")
        super().__init__(input_dim, **options)
        self.scale = nn.Parameter(torch.ones(())) if use_scale else None
        self.concat_weight = nn.Parameter(torch.ones(())) if score_mode == "concat" else None

    def use_rotary(self, rotary: Rotary) -> None:
        if self.concat_weight is not None:
            raise ValueError("score_mode=concat adds queries to keys: rotary position embeddings need score_mode=dot")
        super().use_rotary(rotary)

    def project(self, states: Tensor, mask: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        head = states.unsqueeze(1)  # N×1×L×D
        if self.concat_weight is None or self.scale is None:
            return head, head, head
        return head, self.scale * head, head  # tanh(s (q + k)) = tanh(s q + s k)

    def scale_queries(self, queries: Tensor, mask: Tensor) -> Tensor:
        return queries if self.scale is None else self.scale * queries

    def score(self, queries: Tensor, keys: Tensor) -> Tensor:
        if self.concat_weight is None:
            return super().score(queries, keys)
        pairs = queries.unsqueeze(-2) + keys.unsqueeze(-3)  # N×1×L×L×D
        return self.concat_weight * torch.tanh(pairs).sum(-1)

    def attend(self, queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor) -> Tensor:
        if self.concat_weight is None:
            return super().attend(queries, keys, values, mask)
        weights = masked_softmax(self.score(queries, keys), self.visible(mask))
        return self.dropout(weights) @ values  # no fused kernel supports these scores

"""Self-attention without projections, as in the simple model of the full self-attention report (docs/sources.md)."""

from torch import Tensor

from src.models.attention.dot_product import DotProductAttention


class SimpleSelfAttention(DotProductAttention):
    """softmax(x xᵀ / √D) x: every state is its own query, key and value. The options are those of `SelfAttention`."""

    def project(self, states: Tensor, mask: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        head = states.unsqueeze(1)  # N×1×L×D
        return head, head, head

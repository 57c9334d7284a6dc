"""Multi-head attention (Vaswani et al. 2017, section 3.2.2)."""

from typing import Any

from torch import Tensor

from src.kernels.linear import Linear
from src.models.attention.dot_product import DotProductAttention


class MultiHeadAttention(DotProductAttention):
    """W_o [head_1 … head_H] with head_h = softmax(q_h k_hᵀ / √(D/H)) v_h.

    Args:
        heads: H, number of heads; must divide D, the number of features of a state.
        bias: add a bias to each projection.
        options: options of `SelfAttention`.

    Raises:
        ValueError: if an option is outside its range, or if `heads` does not divide D.
    """

    def __init__(self, input_dim: int, *, heads: int = 4, bias: bool = True, **options: Any) -> None:
        if heads < 1 or input_dim % heads:
            raise ValueError(
                f"heads={heads} must be a positive divisor of {input_dim}, the number of features of a state"
            )
        super().__init__(input_dim, **options)
        self.head_dim = input_dim // heads
        self.heads = heads
        self.projections = Linear(input_dim, 3 * input_dim, bias)
        self.output = Linear(input_dim, input_dim, bias)

    def project(self, states: Tensor, mask: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        split = self.projections(states).unflatten(-1, (3, self.heads, self.head_dim))  # N×L×3×H×d
        queries, keys, values = split.transpose(1, 3).unbind(2)  # N×H×L×d each
        return queries, keys, values

    def merge(self, context: Tensor) -> Tensor:
        return self.output(super().merge(context))

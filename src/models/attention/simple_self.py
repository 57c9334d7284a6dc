"""Self-attention without parameters, as in the simple model of the full self-attention report."""

from torch import Tensor

from src.models.attention.dot_product import DotProductAttention
from src.models.sublayer import Norm


class SimpleSelfAttention(DotProductAttention):
    """softmax(x xᵀ / √D) x: every state is its own query, key and value. Options as in `SelfAttention`."""

    def __init__(
        self,
        input_dim: int,
        *,
        residual: bool = False,
        norm: Norm = "none",
        norm_eps: float = 1e-5,
        dropout: float = 0.0,
        output_dropout: float = 0.0,
    ) -> None:
        super().__init__(
            input_dim,
            head_dim=input_dim,
            residual=residual,
            norm=norm,
            norm_eps=norm_eps,
            dropout=dropout,
            output_dropout=output_dropout,
        )

    def project(self, states: Tensor, mask: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        head = states.unsqueeze(1)  # N×1×L×D
        return head * self.head_dim**-0.5, head, head

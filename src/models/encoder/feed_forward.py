"""The position-wise feed-forward network of a transformer block (Vaswani et al. 2017, section 3.3)."""

from typing import Literal

from torch import Tensor, nn

from src.kernels.dropout import Dropout
from src.kernels.linear import Linear

Activation = Literal["relu", "gelu"]


class FeedForward(nn.Module):
    """Two linear layers: W_2 Dropout(act(W_1 x)), or W_2 Dropout(act(LayerNorm(W_1 x))) if `inner_norm`.

    Args:
        dim: D, number of features of a state.
        hidden_dim: number of hidden features; None means 4 D.
        activation: activation function, relu or gelu.
        dropout: probability in [0, 1) of dropping a hidden feature.
        inner_norm: add layer norm before the activation, as in the elementwise document.

    Raises:
        ValueError: if an option is outside its range.
    """

    def __init__(
        self,
        dim: int,
        *,
        hidden_dim: int | None = None,
        activation: Activation = "gelu",
        dropout: float = 0.0,
        inner_norm: bool = False,
    ) -> None:
        super().__init__()
        hidden = 4 * dim if hidden_dim is None else hidden_dim
        if hidden < 1:
            raise ValueError(f"feed_forward_dim={hidden} must be at least 1")
        if activation not in ("relu", "gelu"):
            raise ValueError(f"activation={activation!r} must be one of relu, gelu")
        self.layers = nn.Sequential(
            Linear(dim, hidden),
            nn.LayerNorm(hidden) if inner_norm else nn.Identity(),
            nn.ReLU() if activation == "relu" else nn.GELU(),
            Dropout(dropout),
            Linear(hidden, dim),
        )

    def forward(self, states: Tensor) -> Tensor:
        """Return the output for each state: N×L×D → N×L×D."""
        return self.layers(states)

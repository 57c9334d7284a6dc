"""A single linear layer from features to logits."""

from torch import Tensor, nn

from src.kernels.dropout import Dropout
from src.models.component import Head


class LinearHead(Head):
    """A linear layer W x + b after dropout.

    Args:
        input_dim: D, number of features of a pooled text.
        num_logits: number of logits that the loss requires.
        dropout: probability in [0, 1) of dropping a feature.
        init_std: standard deviation (≥ 0) of the initial W, which is normally distributed; the initial b is zero. None
            means torch's default initialization.
        freeze: do not train W and b, so that only the preceding components learn.

    Raises:
        ValueError: if an option is outside its range.
    """

    def __init__(
        self,
        input_dim: int,
        num_logits: int,
        *,
        dropout: float = 0.0,
        init_std: float | None = None,
        freeze: bool = False,
    ) -> None:
        super().__init__()
        if init_std is not None and init_std < 0:
            raise ValueError(f"init_std={init_std} must not be negative")
        self.dropout = Dropout(dropout)
        self.linear = nn.Linear(input_dim, num_logits).requires_grad_(not freeze)
        if init_std is not None:
            nn.init.normal_(self.linear.weight, std=init_std)
            nn.init.zeros_(self.linear.bias)

    def forward(self, features: Tensor) -> Tensor:
        """Return the logits: N×D → N×num_logits."""
        return self.linear(self.dropout(features))

"""No positional encoding: the output is the input."""

from torch import Tensor

from src.models.component import Position


class NoPosition(Position):
    """Returns the states unchanged."""

    def __init__(self, input_dim: int) -> None:
        super().__init__()
        self.output_dim = input_dim

    def forward(self, states: Tensor, mask: Tensor) -> Tensor:
        """Return the states unchanged: N×L×D → N×L×D."""
        return states

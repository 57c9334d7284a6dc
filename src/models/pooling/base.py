"""What every pooling shares: it makes one vector of a text's states."""

from torch import nn


class Pooling(nn.Module):
    """N×T×D → N×`width`·D.

    Args:
        input_dim: D, features of a state.
    """

    width = 1

    def __init__(self, input_dim: int) -> None:
        super().__init__()
        self.output_dim = self.width * input_dim

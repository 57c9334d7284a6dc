"""Further features of a text beside its tokens, such as numbers and categories in its row."""

import torch
from torch import Tensor, nn
from torch.nn import functional

from heedful.models.component import Component


class ColumnEmbedding(Component):
    """v + W c: adds a vector of each of the K features c of a text to its pooled vector v of D features.

    W is zero at first, so that a feature that no training text has, such as a missing value, changes nothing. The sum
    has the width that every head expects; a linear head sees in it all that it would see in v and c side by side.
    """

    def __init__(self, input_dim: int, features: int) -> None:
        super().__init__(input_dim)
        self.weight = nn.Parameter(torch.zeros(input_dim, features))

    def forward(self, pooled: Tensor, columns: Tensor) -> Tensor:
        """Return vectors N×D of the pooled texts N×D and their features N×K."""
        return pooled + functional.linear(columns.to(self.weight.dtype), self.weight)

"""The position as an additional feature, as in the from-scratch document."""

import torch
from torch import Tensor

from src.models.component import Position


class Index(Position):
    """Appends the position 0, 1, …, L-1 as an unscaled feature, which can far exceed the other features."""

    def __init__(self, input_dim: int) -> None:
        super().__init__()
        self.output_dim = input_dim + 1

    def forward(self, states: Tensor, mask: Tensor) -> Tensor:
        """Append the position to each state: N×L×D → N×L×(D+1). Padding gets position 0."""
        steps = torch.arange(mask.shape[1], device=mask.device) * mask  # N×L
        return torch.cat([states, steps.unsqueeze(-1).to(states.dtype)], -1)

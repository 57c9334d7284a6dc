"""Positions as the document of `attention_from_scratch` encodes them: the index as an additional feature."""

import torch
from torch import Tensor

from src.models.component import Position


class Index(Position):
    """Appends 0, 1, …, L-1 without scaling; in long texts they exceed every embedded feature."""

    def __init__(self, input_dim: int) -> None:
        super().__init__()
        self.output_dim = input_dim + 1

    def forward(self, states: Tensor, mask: Tensor) -> Tensor:
        """N×L×D → N×L×(D+1); padding gets 0."""
        steps = torch.arange(mask.shape[1], device=mask.device) * mask  # N×L
        return torch.cat([states, steps.unsqueeze(-1).to(states.dtype)], -1)

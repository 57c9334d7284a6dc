"""Sinusoidal positions (Vaswani et al. 2017, section 3.5)."""

import torch
from torch import Tensor

from src.models.component import Position


def angles(length: int, dim: int, base: float, like: Tensor) -> Tensor:
    """Return position / base^(2i/dim) for every position and i = 0 … ⌈dim/2⌉-1: L×⌈dim/2⌉, at least in float32."""
    dtype = torch.promote_types(like.dtype, torch.float32)
    exponents = torch.arange(0, dim, 2, dtype=dtype, device=like.device) / dim
    return torch.outer(torch.arange(length, dtype=dtype, device=like.device), base**-exponents)


class Sinusoidal(Position):
    """Adds sin(l / 10000^(2i/D)) to feature 2i of token l and the cosine to feature 2i+1. D may be odd."""

    def __init__(self, input_dim: int) -> None:
        super().__init__()
        self.output_dim = input_dim

    def forward(self, states: Tensor, mask: Tensor) -> Tensor:
        """Return the states with positions: N×L×D → N×L×D. Padding is unchanged."""
        radians = angles(states.shape[1], self.output_dim, 10000.0, states)
        waves = torch.stack([radians.sin(), radians.cos()], -1).flatten(1)[:, : self.output_dim]  # L×D
        return states + waves.to(states.dtype) * mask.unsqueeze(-1)

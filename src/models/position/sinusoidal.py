"""Sinusoidal positional encoding (Vaswani et al. 2017, section 3.5)."""

import torch
from torch import Tensor

from src.models.component import Position


def angles(length: int, dim: int, base: float, like: Tensor) -> Tensor:
    """Return l / base^(2i/dim) for l = 0 … `length`-1 and i = 0 … ⌈dim/2⌉-1: L×⌈dim/2⌉, in float32 or float64."""
    dtype = torch.promote_types(like.dtype, torch.float32)
    exponents = torch.arange(0, dim, 2, dtype=dtype, device=like.device) / dim
    return torch.outer(torch.arange(length, dtype=dtype, device=like.device), base**-exponents)


class Sinusoidal(Position):
    """Adds sin(l / 10000^(2i/D)) to feature 2i of token l, and the cosine of this angle to feature 2i+1.

    D may be odd.
    """

    def __init__(self, input_dim: int) -> None:
        super().__init__()
        self.output_dim = input_dim

    def forward(self, states: Tensor, mask: Tensor) -> Tensor:
        """Add the positional encoding: N×L×D → N×L×D. Padding is unchanged."""
        radians = angles(states.shape[1], self.output_dim, 10000.0, states)
        encoding = torch.stack([radians.sin(), radians.cos()], -1).flatten(1)[:, : self.output_dim]  # L×D
        return states + encoding.to(states.dtype) * mask.unsqueeze(-1)

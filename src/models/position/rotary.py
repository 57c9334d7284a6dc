"""Rotary positions (Su et al. 2021, "RoFormer")."""

from typing import Protocol, runtime_checkable

import torch
from torch import Tensor, nn

from src.models.component import Position
from src.models.position.sinusoidal import angles


@runtime_checkable
class SupportsRotary(Protocol):
    """An attention whose queries and keys can be turned."""

    def use_rotary(self, rotary: "Rotary") -> None: ...


class Rotary(Position):
    """Turns queries and keys by their positions, so that a score depends on the distance of two tokens alone.

    It acts inside attention, where queries and keys exist, not on the states, which it hands on: `attach`
    gives it to every self-attention that the encoder and the attention part hold.

    Args:
        input_dim: D, features of an embedded token.
        base: the slowest pair of features turns by nearly 1 / `base` radians a token.

    Raises:
        ValueError: if `base` is not above 1.
    """

    def __init__(self, input_dim: int, *, base: float = 10000.0) -> None:
        super().__init__()
        if base <= 1:
            raise ValueError(f"base={base} must be above 1")
        self.output_dim = input_dim
        self.base = base

    def forward(self, states: Tensor, mask: Tensor) -> Tensor:
        """N×L×D → N×L×D, unchanged."""
        return states

    def check(self, dim: int) -> None:
        """Raises ValueError if a head of `dim` features cannot be turned in pairs."""
        if dim % 2:
            raise ValueError(f"rotary positions turn features in pairs: a head's {dim} features must be even")

    def rotate(self, heads: Tensor) -> Tensor:
        """Turn features 2i and 2i+1 of token l by l / base^(2i/d) radians (eq. 34): N×H×L×d → N×H×L×d."""
        turns = angles(heads.shape[2], heads.shape[3], self.base, heads)  # L×d/2
        sin, cos = turns.sin().to(heads.dtype), turns.cos().to(heads.dtype)
        even, odd = heads[..., 0::2], heads[..., 1::2]
        return torch.stack([even * cos - odd * sin, even * sin + odd * cos], -1).flatten(-2)

    def attach(self, *parts: nn.Module) -> None:
        """Have every self-attention in `parts` turn its queries and keys.

        Raises:
            ValueError: if there is none, or if one has heads of an odd number of features.
        """
        found = [part for whole in parts for part in whole.modules() if isinstance(part, SupportsRotary)]
        if not found:
            raise ValueError(
                "rotary positions turn queries and keys, but neither encoder nor attention has any: take "
                "model/encoder=transformer or model/attention=multi_head, or another position"
            )
        for attention in found:
            attention.use_rotary(self)

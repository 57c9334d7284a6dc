"""Rotary position embeddings (Su et al. 2021, "RoFormer")."""

from typing import Protocol, runtime_checkable

import torch
from torch import Tensor, nn

from src.models.component import Position
from src.models.position.sinusoidal import angles


@runtime_checkable
class SupportsRotary(Protocol):
    """An attention layer whose queries and keys can be rotated."""

    def use_rotary(self, rotary: "Rotary") -> None: ...


class Rotary(Position):
    """Rotates queries and keys, so that a score depends on the tokens' relative position, not their absolute positions.

    The rotation happens inside attention layers; `forward` returns the states unchanged. `attach` passes this object to
    every attention layer in the model that has queries and keys (`SupportsRotary`).

    Args:
        input_dim: D, number of features of an embedded token.
        base: base (> 1) of the angles: features 2i and 2i+1 of a head with d features rotate by 1 / base^(2i/d) radians
            per token.

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
        """Return the states unchanged: N×L×D → N×L×D."""
        return states

    def require_even(self, dim: int) -> None:
        """Raise a ValueError if `dim`, the number of features of a head, is odd."""
        if dim % 2:
            raise ValueError(
                f"rotary position embeddings rotate pairs of features: a head must have an even number of features, "
                f"not {dim}"
            )

    def rotate(self, heads: Tensor) -> Tensor:
        """Rotate features 2i and 2i+1 of token l by l / base^(2i/d) radians (eq. 34): N×H×L×d → N×H×L×d."""
        radians = angles(heads.shape[2], heads.shape[3], self.base, heads)  # L×d/2
        sin, cos = radians.sin().to(heads.dtype), radians.cos().to(heads.dtype)
        even, odd = heads[..., 0::2], heads[..., 1::2]
        return torch.stack([even * cos - odd * sin, even * sin + odd * cos], -1).flatten(-2)

    def attach(self, *components: nn.Module) -> None:
        """Pass this object to every attention layer in `components` that supports rotation.

        Raises:
            ValueError: if no attention layer supports rotation, if a head has an odd number of features, or if
                `KerasAttention` has score_mode=concat.
        """
        attentions = [
            module for component in components for module in component.modules() if isinstance(module, SupportsRotary)
        ]
        if not attentions:
            raise ValueError(
                "rotary position embeddings rotate queries and keys, but neither encoder nor attention computes "
                "them: use model/encoder=transformer, model/attention=multi_head or another model/position"
            )
        for attention in attentions:
            attention.use_rotary(self)

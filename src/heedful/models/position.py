"""The positional encodings."""

from typing import Annotated, Any

import torch
from pydantic import Field
from torch import Tensor, nn

from heedful.base.errors import UserError
from heedful.models.component import Position, Size


class NoPosition(Position):
    """Returns the states unchanged."""

    def forward(self, states: Tensor, mask: Tensor) -> Tensor:
        return states


class Index(Position):
    """Appends the position 0, 1, …, L-1 as an unscaled feature, which can far exceed the other features.

    This follows the from-scratch document. Padding gets position 0.
    """

    def __init__(self, input_dim: int) -> None:
        super().__init__(input_dim + 1)

    def forward(self, states: Tensor, mask: Tensor) -> Tensor:
        steps = torch.arange(mask.shape[1], device=mask.device) * mask  # N×L
        return torch.cat([states, steps.unsqueeze(-1).to(states.dtype)], -1)


class Learned(Position):
    """Adds the learned vector of position l to the state of token l (Gehring et al. 2017; Devlin et al. 2019).

    Padding is unchanged. The padded length is at most `max_length`, the number of position embeddings.
    """

    def __init__(self, input_dim: int, *, max_length: Size = 512) -> None:
        super().__init__(input_dim)
        self.max_length = max_length
        self.vectors = nn.Parameter(torch.empty(max_length, input_dim).normal_(std=0.02))

    def forward(self, states: Tensor, mask: Tensor) -> Tensor:
        length = states.shape[1]
        if length > self.max_length:
            raise UserError(
                f"a batch is padded to {length} tokens, but there are only {self.max_length} learned position "
                f"embeddings: set model.position.max_length={length}, or lower data.max_length"
            )
        return states + self.vectors[:length] * mask.unsqueeze(-1)


class Sinusoidal(Position):
    """Adds sin(l / 10000^(2i/D)) to feature 2i of token l, and the cosine of this angle to feature 2i+1.

    Vaswani et al. 2017, section 3.5; D may be odd. Padding is unchanged.
    """

    def forward(self, states: Tensor, mask: Tensor) -> Tensor:
        radians = angles(states.shape[1], self.output_dim, 10000.0, states)
        encoding = torch.stack([radians.sin(), radians.cos()], -1).flatten(1)[:, : self.output_dim]  # L×D
        return states + encoding.to(states.dtype) * mask.unsqueeze(-1)


def angles(length: int, dim: int, base: float, like: Tensor) -> Tensor:
    """Return l / base^(2i/dim) for l = 0 … `length`-1 and i = 0 … ⌈dim/2⌉-1: L×⌈dim/2⌉, in float32 or float64."""
    dtype = torch.promote_types(like.dtype, torch.float32)
    exponents = torch.arange(0, dim, 2, dtype=dtype, device=like.device) / dim
    return torch.outer(torch.arange(length, dtype=dtype, device=like.device), base**-exponents)


class Rotary(NoPosition):
    """Rotates queries and keys, so that a score depends on the tokens' relative position (Su et al. 2021, "RoFormer").

    The rotation happens inside attention layers. `attach` passes this object to every attention layer in the model that
    has a method `use_rotary`, which refuses unsuitable heads by a ValueError.
    """

    def __init__(self, input_dim: int, *, base: Annotated[float, Field(gt=1)] = 10000.0) -> None:
        super().__init__(input_dim)
        self.base = base

    def rotate(self, heads: Tensor) -> Tensor:
        """Rotate features 2i and 2i+1 of token l by l / base^(2i/d) radians (eq. 34): N×H×L×d → N×H×L×d."""
        radians = angles(heads.shape[2], heads.shape[3], self.base, heads)  # L×d/2
        sin, cos = radians.sin().to(heads.dtype), radians.cos().to(heads.dtype)
        even, odd = heads[..., 0::2], heads[..., 1::2]
        return torch.stack([even * cos - odd * sin, even * sin + odd * cos], -1).flatten(-2)

    def attach(self, *components: nn.Module) -> None:
        modules: list[Any] = [module for component in components for module in component.modules()]
        attentions = [module for module in modules if hasattr(module, "use_rotary")]
        if not attentions:
            raise ValueError(
                "rotary position embeddings rotate queries and keys, but neither encoder nor attention computes "
                "them: use model/encoder=transformer, model/attention=multi_head or another model/position"
            )
        for attention in attentions:
            attention.use_rotary(self)

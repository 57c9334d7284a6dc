"""Learned position embeddings (Gehring et al. 2017; Devlin et al. 2019)."""

import torch
from torch import Tensor, nn

from src.errors import UserError
from src.models.component import Position


class Learned(Position):
    """Adds the learned vector of position l to the state of token l.

    Args:
        input_dim: D, number of features of an embedded token.
        max_length: number of position embeddings, which is the maximum padded length (≥ 1).

    Raises:
        ValueError: if `max_length` is below 1.
    """

    def __init__(self, input_dim: int, *, max_length: int = 512) -> None:
        super().__init__()
        if max_length < 1:
            raise ValueError(f"max_length={max_length} must be at least 1")
        self.output_dim = input_dim
        self.max_length = max_length
        self.vectors = nn.Parameter(torch.empty(max_length, input_dim).normal_(std=0.02))

    def forward(self, states: Tensor, mask: Tensor) -> Tensor:
        """Add the position embeddings: N×L×D → N×L×D. Padding is unchanged.

        Raises:
            UserError: if the padded length exceeds `max_length`.
        """
        length = states.shape[1]
        if length > self.max_length:
            raise UserError(
                f"a batch is padded to {length} tokens, but there are only {self.max_length} learned position "
                f"embeddings: set model.position.max_length={length}, or lower data.max_length"
            )
        return states + self.vectors[:length] * mask.unsqueeze(-1)

"""No attention: what came in goes on."""

import torch
from torch import Tensor

from src.models.component import Attention
from src.models.types import Encoded


class NoAttention(Attention):
    """Hands the encoder's states on, so that the pooling alone decides: the baseline without attention."""

    def __init__(self, input_dim: int) -> None:
        super().__init__()
        self.output_dim = input_dim

    def weights(self, encoded: Encoded) -> Tensor:
        """Every real state looks at itself alone: the identity, N×1×T×T, zero on padding."""
        eye = torch.eye(encoded.mask.shape[1], dtype=encoded.states.dtype, device=encoded.states.device)
        return (eye * encoded.mask.unsqueeze(-1)).unsqueeze(1)

    def forward_with_weights(self, encoded: Encoded) -> tuple[Encoded, Tensor]:
        """What `forward` and `weights` give."""
        return encoded, self.weights(encoded)

    def forward(self, encoded: Encoded) -> Encoded:
        return encoded

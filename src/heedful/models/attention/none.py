"""No attention: the output is the input."""

import torch
from torch import Tensor

from heedful.models.component import Attention, Encoded


class NoAttention(Attention):
    """Returns the encoder's states unchanged: the baseline without attention."""

    per_token = True

    def weights(self, encoded: Encoded) -> Tensor:
        """Return identity matrices N×1×T×T with zeros on padding: every real state attends only to itself."""
        eye = torch.eye(encoded.mask.shape[1], dtype=encoded.states.dtype, device=encoded.states.device)
        return (eye * encoded.mask.unsqueeze(-1)).unsqueeze(1)

    def mix(self, encoded: Encoded, weights: Tensor) -> Encoded:
        return encoded._replace(states=weights[:, 0] @ encoded.states)

    def forward(self, encoded: Encoded) -> Encoded:
        return super().forward(encoded) if self.redefines(NoAttention, "weights", "mix") else encoded

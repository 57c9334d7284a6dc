"""Attention pooling with a learned query (Yang et al. 2016)."""

import torch
from torch import Tensor, nn

from src.kernels.linear import Linear
from src.models.masking import masked_softmax
from src.models.pooling.base import Pooling
from src.models.types import Encoded


class Attentive(Pooling):
    """Σ_t softmax(u_wᵀ tanh(W_w h_t + b_w)) h_t over the real states (Yang et al. 2016, eqs. 5 to 7).

    The query is a learned vector u_w that all texts share.
    """

    def __init__(self, input_dim: int) -> None:
        super().__init__(input_dim)
        self.hidden = Linear(input_dim, input_dim)
        self.question = nn.Linear(input_dim, 1, bias=False)

    def forward(self, encoded: Encoded) -> Tensor:
        scores = self.question(torch.tanh(self.hidden(encoded.states))).squeeze(-1)  # N×T
        return torch.einsum("nt,ntd->nd", masked_softmax(scores, encoded.mask), encoded.states)

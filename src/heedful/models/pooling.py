"""The poolings, each of which combines the states of a text into one vector."""

import torch
from torch import Tensor, nn

from heedful.kernels.layers import Linear
from heedful.models.component import Encoded, Pooling, masked_max, masked_mean, masked_softmax, masked_sum, state_at


class First(Pooling):
    """The first real state of each text."""

    def forward(self, encoded: Encoded) -> Tensor:
        return state_at(encoded.states, encoded.mask, last=False)


class Last(Pooling):
    """The summary of the preceding component: an RNN's last hidden states, or the context vector of query attention."""

    def forward(self, encoded: Encoded) -> Tensor:
        return encoded.summary


class Max(Pooling):
    """The maximum of each feature over the real states."""

    def forward(self, encoded: Encoded) -> Tensor:
        return masked_max(encoded.states, encoded.mask)


class Mean(Pooling):
    """The mean over the real states."""

    def forward(self, encoded: Encoded) -> Tensor:
        return masked_mean(encoded.states, encoded.mask)


class Sum(Pooling):
    """The sum over the real states, which grows with the length of the text."""

    def forward(self, encoded: Encoded) -> Tensor:
        return masked_sum(encoded.states, encoded.mask)


class MeanMax(Pooling):
    """Mean and maximum over the real states, concatenated: N×2D."""

    width = 2

    def forward(self, encoded: Encoded) -> Tensor:
        states, mask = encoded.states, encoded.mask
        return torch.cat([masked_mean(states, mask), masked_max(states, mask)], -1)


class Concat(Pooling):
    """Summary, maximum and mean, concatenated: [h_T; max H; mean H] (Howard & Ruder 2018, section 3.3): N×3D."""

    width = 3

    def forward(self, encoded: Encoded) -> Tensor:
        states, mask = encoded.states, encoded.mask
        return torch.cat([encoded.summary, masked_max(states, mask), masked_mean(states, mask)], -1)


class Attentive(Pooling):
    """Σ_t softmax(u_wᵀ tanh(W_w h_t + b_w)) h_t over the real states (Yang et al. 2016, eqs. 5 to 7)."""

    def __init__(self, input_dim: int) -> None:
        super().__init__(input_dim)
        self.hidden = Linear(input_dim, input_dim)
        self.question = nn.Linear(input_dim, 1, bias=False)

    def forward(self, encoded: Encoded) -> Tensor:
        scores = self.question(torch.tanh(self.hidden(encoded.states))).squeeze(-1)  # N×T
        return torch.einsum("nt,ntd->nd", masked_softmax(scores, encoded.mask), encoded.states)

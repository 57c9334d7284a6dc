"""The global vector E of elementwise attention, a summary of the text."""

from typing import Literal

import torch.nn.functional as F
from torch import Tensor, nn

from src.kernels.dropout import Dropout
from src.kernels.linear import Linear
from src.models.masking import masked_softmax

VectorNorm = Literal["none", "layer", "batch"]


class GlobalVector(nn.Module):
    """E = norm(Σ_l softmax_l(W_a x_l) ∘ W_v x_l): every feature has its own softmax over the tokens.

    Time and memory are O(L).

    Args:
        input_dim: D, number of features of a state.
        output_dim: De, number of features of E.
        norm: normalization of E: layer, batch or none. Even while training, batch norm applies the running statistics
            to a batch of one text.
        dropout: probability in [0, 1) of dropping a weight while training.

    Raises:
        ValueError: if an option is outside its range.
    """

    def __init__(self, input_dim: int, output_dim: int, *, norm: VectorNorm = "layer", dropout: float = 0.0) -> None:
        super().__init__()
        if output_dim < 1:
            raise ValueError(f"expanded_dim={output_dim} must be at least 1")
        if norm not in ("none", "layer", "batch"):
            raise ValueError(f"vector_norm={norm!r} must be one of none, layer, batch")
        self.scores = Linear(input_dim, output_dim, bias=False)  # the softmax would cancel a bias
        self.values = Linear(input_dim, output_dim, bias=False)
        norms = {"none": nn.Identity, "layer": nn.LayerNorm, "batch": nn.BatchNorm1d}
        self.norm = norms[norm](output_dim)
        self.dropout = Dropout(dropout)

    def weights(self, states: Tensor, mask: Tensor) -> Tensor:
        """Return weights that sum to 1 over the real tokens for each feature of E: N×L×D, N×L → N×L×De."""
        return masked_softmax(self.scores(states), mask.unsqueeze(-1), dim=1)

    def forward(self, states: Tensor, mask: Tensor) -> Tensor:
        """Return E, which is zero for an empty text: N×L×D, N×L → N×De."""
        return self.mix(states, mask, self.dropout(self.weights(states, mask)))

    def mix(self, states: Tensor, mask: Tensor, weights: Tensor) -> Tensor:
        """Return E for the given weights: N×L×D, N×L, N×L×De → N×De."""
        vector = self._normalize((weights * self.values(states)).sum(1))
        return vector.masked_fill(~mask.any(1, keepdim=True), 0.0)

    def _normalize(self, vector: Tensor) -> Tensor:
        norm = self.norm
        if not isinstance(norm, nn.BatchNorm1d) or len(vector) > 1:
            return norm(vector)
        # the variance over a single text is undefined
        return F.batch_norm(vector, norm.running_mean, norm.running_var, norm.weight, norm.bias, eps=norm.eps)

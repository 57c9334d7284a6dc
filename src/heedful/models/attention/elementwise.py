"""Elementwise self-attention through one global vector of the text, with time and memory in O(L)."""

from collections.abc import Callable
from typing import Any, Literal

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from heedful.kernels.layers import Dropout, Linear
from heedful.models.component import (
    Encoded,
    Normalize,
    Rate,
    Size,
    TokenAttention,
    masked_mean,
    masked_softmax,
    zero_padding,
)

VectorNorm = Literal["none", "layer", "batch"]
Gate = Literal["tanh", "sigmoid", "linear"]
GATES: dict[str, Callable[[Tensor], Tensor]] = {"tanh": torch.tanh, "sigmoid": torch.sigmoid, "linear": nn.Identity()}


class GlobalVector(nn.Module):
    """E = norm(Σ_l softmax_l(W_a x_l) ∘ W_v x_l): every feature has its own softmax over the tokens."""

    def __init__(self, input_dim: int, output_dim: int, *, norm: VectorNorm = "layer", dropout: float = 0.0) -> None:
        super().__init__()
        self.scores = Linear(input_dim, output_dim, bias=False)  # the softmax would cancel a bias
        self.values = Linear(input_dim, output_dim, bias=False)
        norms = {"none": nn.Identity, "layer": nn.LayerNorm, "batch": nn.BatchNorm1d}
        self.norm = norms[norm](output_dim)
        self.dropout = Dropout(dropout)

    def weights(self, states: Tensor, mask: Tensor, normalizer: Normalize = masked_softmax) -> Tensor:
        """Return weights that sum to 1 over the real tokens for each feature of E: N×L×D, N×L → N×L×De."""
        return normalizer(self.scores(states), mask.unsqueeze(-1), 1)

    def mix(self, states: Tensor, mask: Tensor, weights: Tensor) -> Tensor:
        """Return E for the given weights, zero for an empty text: N×L×D, N×L, N×L×De → N×De."""
        vector = self._normalize((weights * self.values(states)).sum(1))
        return vector.masked_fill(~mask.any(1, keepdim=True), 0.0)

    def forward(self, states: Tensor, mask: Tensor, normalizer: Normalize = masked_softmax) -> Tensor:
        """Return E: N×L×D, N×L → N×De."""
        return self.mix(states, mask, self.dropout(self.weights(states, mask, normalizer)))

    def _normalize(self, vector: Tensor) -> Tensor:
        norm = self.norm
        if not isinstance(norm, nn.BatchNorm1d) or len(vector) > 1:
            return norm(vector)
        # the variance over a single text is undefined, so that it is that of earlier texts even in training
        return F.batch_norm(vector, norm.running_mean, norm.running_var, norm.weight, norm.bias, eps=norm.eps)


class ElementwiseMixing(TokenAttention):
    """Replaces each state x by W_o (R ∘ gate(E)) with R = W_r x + b_r; the summary is E, the global vector of the text.

    There are no token × token weights: each feature of E counts as a head, and has a single row of weights.
    """

    has_scores = True

    def __init__(
        self,
        input_dim: int,
        *,
        expanded_dim: Size | None = None,
        gate: Gate = "tanh",
        vector_norm: VectorNorm = "layer",
        dropout: Rate = 0.0,
    ) -> None:
        super().__init__(input_dim)
        vector_dim = expanded_dim or input_dim
        self.gate = GATES[gate]
        self.vector = GlobalVector(input_dim, vector_dim, norm=vector_norm, dropout=dropout)
        self.retrieval = Linear(input_dim, vector_dim)
        self.output = Linear(vector_dim, input_dim, bias=False)

    def transform(self, states: Tensor, mask: Tensor) -> Tensor:
        if self.redefines(ElementwiseMixing, "weights", "mix"):
            return self.forward(Encoded(states, mask, masked_mean(states, mask))).states
        return self._retrieve(states, self.vector(states, mask, self.normalize))

    def weights(self, encoded: Encoded) -> Tensor:
        """Return the weights N×De×1×L: one head for each feature of E."""
        weights = self.vector.weights(encoded.states, encoded.mask, self.normalize)  # N×L×De
        return weights.transpose(1, 2).unsqueeze(2)

    def mix(self, encoded: Encoded, weights: Tensor) -> Encoded:
        by_token = weights.squeeze(2).transpose(1, 2)  # N×L×De
        return self._encoded(encoded, self.vector.mix(encoded.states, encoded.mask, by_token))

    def forward(self, encoded: Encoded) -> Encoded:
        if self.redefines(ElementwiseMixing, "weights", "mix"):
            return self.mix(encoded, self.vector.dropout(self.weights(encoded)))
        return self._encoded(encoded, self.vector(encoded.states, encoded.mask, self.normalize))

    def _retrieve(self, states: Tensor, vector: Tensor) -> Tensor:
        """Return the output for each state, given the global vectors: N×L×D, N×De → N×L×D."""
        return self.output(self.retrieval(states) * self.gate(vector).unsqueeze(1))

    def _encoded(self, encoded: Encoded, vector: Tensor) -> Encoded:
        return Encoded(zero_padding(self._retrieve(encoded.states, vector), encoded.mask), encoded.mask, vector)


class ElementwiseAttention(ElementwiseMixing):
    """Elementwise mixing as a model's attention: the summary is E, projected to D features if it has another size."""

    def __init__(self, input_dim: int, *, expanded_dim: Size | None = None, **options: Any) -> None:
        super().__init__(input_dim, expanded_dim=expanded_dim, **options)
        vector_dim = expanded_dim or input_dim
        self.summary = nn.Identity() if vector_dim == input_dim else Linear(vector_dim, input_dim, bias=False)

    def _encoded(self, encoded: Encoded, vector: Tensor) -> Encoded:
        attended = super()._encoded(encoded, vector)
        return attended._replace(summary=self.summary(vector))

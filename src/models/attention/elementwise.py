"""Elementwise self-attention through one global vector, with time and memory in O(L)."""

from collections.abc import Callable
from typing import Any, Literal

import torch
from torch import Tensor, nn

from src.kernels.linear import Linear
from src.models.attention.global_vector import GlobalVector, VectorNorm
from src.models.attention.self_attention import SelfAttention
from src.models.sublayer import Norm
from src.models.types import Encoded

Gate = Literal["tanh", "sigmoid", "linear"]
GATES: dict[str, Callable[[Tensor], Tensor]] = {
    "tanh": torch.tanh,
    "sigmoid": torch.sigmoid,
    "linear": lambda vector: vector,
}


class ElementwiseMixing(nn.Module):
    """Computes W_o (R ∘ gate(E)) with R = W_r x + b_r for each state x; E is the global vector of the text.

    Args:
        input_dim: D, number of features of a state.
        expanded_dim: De, number of features of E; None means D.
        gate: function that is applied to E: tanh, sigmoid or linear (the identity).
        vector_norm: normalization of E: layer, batch or none.
        dropout: probability in [0, 1) of dropping an attention weight while training.

    Raises:
        ValueError: if an option is outside its range.
    """

    def __init__(
        self,
        input_dim: int,
        *,
        expanded_dim: int | None = None,
        gate: Gate = "tanh",
        vector_norm: VectorNorm = "layer",
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        if gate not in GATES:
            raise ValueError(f"gate={gate!r} must be one of {', '.join(GATES)}")
        vector_dim = input_dim if expanded_dim is None else expanded_dim
        self.gate = GATES[gate]
        self.vector = GlobalVector(input_dim, vector_dim, norm=vector_norm, dropout=dropout)
        self.retrieval = Linear(input_dim, vector_dim)
        self.output = Linear(vector_dim, input_dim, bias=False)

    def retrieve(self, states: Tensor, vector: Tensor) -> Tensor:
        """Return the output for each state, given the global vectors: N×L×D, N×De → N×L×D."""
        return self.output(self.retrieval(states) * self.gate(vector).unsqueeze(1))

    def transform(self, states: Tensor, mask: Tensor) -> Tensor:
        """Return the output for each state: N×L×D, N×L → N×L×D."""
        return self.retrieve(states, self.vector(states, mask))


class ElementwiseAttention(SelfAttention):
    """Elementwise mixing as an attention mechanism; the summary is E, projected to D features if E has another size.

    There are no token × token weights: each feature of E counts as a head, and has a single row of weights. The options
    are those of `ElementwiseMixing` and `SelfAttention`.
    """

    def __init__(
        self,
        input_dim: int,
        *,
        expanded_dim: int | None = None,
        gate: Gate = "tanh",
        vector_norm: VectorNorm = "layer",
        residual: bool = True,
        norm: Norm = "pre",
        dropout: float = 0.0,
        **options: Any,
    ) -> None:
        super().__init__(input_dim, residual=residual, norm=norm, dropout=dropout, **options)
        vector_dim = input_dim if expanded_dim is None else expanded_dim
        self.mixing = ElementwiseMixing(
            input_dim, expanded_dim=vector_dim, gate=gate, vector_norm=vector_norm, dropout=dropout
        )
        self.summary = nn.Identity() if vector_dim == input_dim else Linear(vector_dim, input_dim, bias=False)

    def transform(self, states: Tensor, mask: Tensor) -> Tensor:
        return self.mixing.transform(states, mask)

    def weights(self, encoded: Encoded) -> Tensor:
        """Return the weights N×De×1×L: one head for each feature of E."""
        weights = self.mixing.vector.weights(self.around.prepare(encoded.states), encoded.mask)  # N×L×De
        return weights.transpose(1, 2).unsqueeze(2)

    def forward(self, encoded: Encoded) -> Encoded:
        states = self.around.prepare(encoded.states)
        return self._retrieve(encoded, states, self.mixing.vector(states, encoded.mask))

    def mix(self, encoded: Encoded, weights: Tensor) -> Encoded:
        states = self.around.prepare(encoded.states)
        by_token = weights.squeeze(2).transpose(1, 2)  # N×L×De
        return self._retrieve(encoded, states, self.mixing.vector.mix(states, encoded.mask, by_token))

    def _retrieve(self, encoded: Encoded, states: Tensor, vector: Tensor) -> Encoded:
        """Return the result of `forward`, given the prepared states N×L×D and the global vectors N×De."""
        outputs = self.mixing.retrieve(states, vector)
        return Encoded(self.finish(encoded, outputs), encoded.mask, self.summary(vector))

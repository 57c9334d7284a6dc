"""Self-attention with queries, keys and values (Vaswani et al. 2017, section 3.2): simple and multi-head."""

from abc import abstractmethod
from typing import Any

from torch import Tensor

from heedful.kernels.layers import Dropout, Linear, fused_attention
from heedful.models.component import Encoded, Rate, Size, TokenAttention, masked_mean, zero_padding
from heedful.models.position import Rotary


class SelfAttention(TokenAttention):
    """Replaces each real state by softmax(q kᵀ) v over the real keys, separately for each head: N×L×D → N×L×D'.

    The summary is the mean of the output states. A subclass implements `project`. It may override `visible`, `score`,
    `merge`, `weights` and `mix`. `forward` calls a fused kernel, which does not store the weights, unless `score`,
    `weights` or `mix` is overridden, or the normalizer is not softmax.

    Attributes:
        head_dim: d, number of features of a head's queries and keys; D unless a subclass sets another value.
    """

    per_token = has_scores = True

    def __init__(self, input_dim: int, output_dim: int | None = None, /, *, dropout: Rate = 0.0) -> None:
        super().__init__(output_dim or input_dim)
        self.head_dim = input_dim
        self.dropout = Dropout(dropout)
        self.rotary: Rotary | None = None

    @abstractmethod
    def project(self, states: Tensor, mask: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return queries, keys and values, each N×H×L×d; the queries are already divided by the scale, such as √d."""

    def visible(self, mask: Tensor) -> Tensor:
        """Return a mask, True for the keys that each query may attend to: N×L → bool, broadcastable to N×H×L×L."""
        return mask[:, None, None, :]

    def score(self, queries: Tensor, keys: Tensor) -> Tensor:
        """Return the score of each key for each query: N×H×L×d, N×H×L×d → N×H×L×L."""
        return queries @ keys.transpose(-2, -1)

    def merge(self, context: Tensor) -> Tensor:
        """Concatenate the heads: N×H×L×d → N×L×Hd."""
        return context.transpose(1, 2).flatten(2)

    def attend(self, queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor) -> Tensor:
        """Return the averages of the values, by a fused kernel if the scores are dot products: N×H×L×d → N×H×L×d."""
        if self.normalizer is not None or self.redefines(SelfAttention, "score"):
            return self.dropout(self._weights(queries, keys, mask)) @ values
        return fused_attention(queries, keys, values, self.visible(mask), self.drop_rate)

    @property
    def drop_rate(self) -> float:
        return self.dropout.rate if self.training else 0.0

    def use_rotary(self, rotary: Rotary) -> None:
        """Rotate queries and keys by `rotary` in all later calls."""
        if self.head_dim % 2:
            raise ValueError(
                "rotary position embeddings rotate pairs of features: a head must have an even number of features, "
                f"not {self.head_dim}"
            )
        self.rotary = rotary

    def transform(self, states: Tensor, mask: Tensor) -> Tensor:
        if self.redefines(SelfAttention, "weights", "mix"):
            return self.forward(Encoded(states, mask, masked_mean(states, mask))).states
        return self.merge(self.attend(*self._project(states, mask), mask))

    def weights(self, encoded: Encoded) -> Tensor:
        queries, keys, _ = self._project(encoded.states, encoded.mask)
        weights = self._weights(queries, keys, encoded.mask)
        return weights.masked_fill(~encoded.mask[:, None, :, None], 0.0)

    def mix(self, encoded: Encoded, weights: Tensor) -> Encoded:
        _, _, values = self._project(encoded.states, encoded.mask)
        return self._encoded(self.merge(weights @ values), encoded.mask)

    def forward(self, encoded: Encoded) -> Encoded:
        if self.redefines(SelfAttention, "weights", "mix"):
            return self.mix(encoded, self.dropout(self.weights(encoded)))
        return self._encoded(self.transform(encoded.states, encoded.mask), encoded.mask)

    def _weights(self, queries: Tensor, keys: Tensor, mask: Tensor) -> Tensor:
        return self.normalize(self.score(queries, keys), self.visible(mask))

    def _project(self, states: Tensor, mask: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        queries, keys, values = self.project(states, mask)
        if self.rotary is None:
            return queries, keys, values
        return self.rotary.rotate(queries), self.rotary.rotate(keys), values

    def _encoded(self, outputs: Tensor, mask: Tensor) -> Encoded:
        states = zero_padding(outputs, mask)
        return Encoded(states, mask, masked_mean(states, mask))


class SimpleSelfAttention(SelfAttention):
    """softmax(x xᵀ / √D) x, the simple model of the full self-attention report (docs/sources.md): no parameters."""

    def project(self, states: Tensor, mask: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        head = states.unsqueeze(1)  # N×1×L×D
        return head * self.head_dim**-0.5, head, head


class MultiHeadAttention(SelfAttention):
    """W_o [head_1 … head_H] with head_h = softmax(q_h k_hᵀ / √(D/H)) v_h (Vaswani et al. 2017, section 3.2.2)."""

    def __init__(self, input_dim: int, *, heads: Size = 4, bias: bool = True, **options: Any) -> None:
        if input_dim % heads:
            raise ValueError(
                f"heads={heads} must be a positive divisor of {input_dim}, the number of features of a state"
            )
        super().__init__(input_dim, **options)
        self.head_dim = input_dim // heads
        self.heads = heads
        self.projections = Linear(input_dim, 3 * input_dim, bias)
        self.output = Linear(input_dim, input_dim, bias)

    def project(self, states: Tensor, mask: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        split = self.projections(states).view(*states.shape[:2], 3, self.heads, self.head_dim)  # N×L×3×H×d
        queries, keys, values = split.transpose(1, 3).unbind(2)  # N×H×L×d each
        return queries * self.head_dim**-0.5, keys, values

    def merge(self, context: Tensor) -> Tensor:
        return self.output(super().merge(context))

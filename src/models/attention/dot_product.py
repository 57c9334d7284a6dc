"""Self-attention with queries, keys and values (Vaswani et al. 2017, section 3.2)."""

from typing import Any

from torch import Tensor

from src.kernels.attention import fused_attention
from src.models.attention.self_attention import SelfAttention
from src.models.masking import masked_softmax
from src.models.position.rotary import Rotary
from src.models.shapes import require_shape
from src.models.types import Encoded


class DotProductAttention(SelfAttention):
    """Self-attention softmax(q kᵀ / √d) v over the real keys, separately for each head.

    A subclass implements `project`. It overrides `scale_queries` if the divisor is not √d, and `merge` if it does more
    than concatenate the heads. `forward` calls a fused kernel, which does not store the weights; `weights` computes
    them.

    Args:
        input_dim: D, number of features of a state.
        output_dim: D', number of features of an attention output; None means D.
        options: options of `SelfAttention`.

    Attributes:
        head_dim: d, number of features of a head's queries and keys; D unless a subclass sets another value.
    """

    def __init__(self, input_dim: int, output_dim: int | None = None, /, **options: Any) -> None:
        super().__init__(input_dim, output_dim, **options)
        self.head_dim = input_dim
        self.rotary: Rotary | None = None

    def project(self, states: Tensor, mask: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return queries, keys and values, each N×H×L×d, before scaling."""
        raise NotImplementedError

    def scale_queries(self, queries: Tensor, mask: Tensor) -> Tensor:
        """Scale the queries, and so the scores, by 1 / √d (eq. 1): N×H×L×d → N×H×L×d."""
        return queries * self.head_dim**-0.5

    def merge(self, context: Tensor) -> Tensor:
        """Concatenate the heads: N×H×L×d → N×L×Hd."""
        return context.transpose(1, 2).flatten(2)

    def visible(self, mask: Tensor) -> Tensor:
        """Return a mask, True for the keys that each query may attend to: N×L → bool, broadcastable to N×H×L×L."""
        return mask[:, None, None, :]

    def score(self, queries: Tensor, keys: Tensor) -> Tensor:
        """Return the score of each key for each query: N×H×L×d, N×H×L×d → N×H×L×L."""
        return queries @ keys.transpose(-2, -1)

    def attend(self, queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor) -> Tensor:
        """Return the averages of the values, weighted by the attention weights: N×H×L×d each → N×H×L×d."""
        return fused_attention(queries, keys, values, self.visible(mask), self.drop_rate)

    @property
    def drop_rate(self) -> float:
        return self.dropout.rate if self.training else 0.0

    def use_rotary(self, rotary: Rotary) -> None:
        """Rotate queries and keys by `rotary` in all later calls.

        Raises:
            ValueError: if a head has an odd number of features.
        """
        rotary.require_even(self.head_dim)
        self.rotary = rotary

    def _project(self, states: Tensor, mask: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        queries, keys, values = self.project(states, mask)
        texts, length = mask.shape
        for name, projected in (("queries", queries), ("keys", keys), ("values", values)):
            require_shape(self, f"project ({name})", projected, "N×H×L×d", (texts, None, length, None))
        queries = self.scale_queries(queries, mask)
        if self.rotary is None:
            return queries, keys, values
        return self.rotary.rotate(queries), self.rotary.rotate(keys), values

    def transform(self, states: Tensor, mask: Tensor) -> Tensor:
        return self.merge(self.attend(*self._project(states, mask), mask))

    def mix(self, encoded: Encoded, weights: Tensor) -> Encoded:
        _, _, values = self._project(self.around.prepare(encoded.states), encoded.mask)
        return self._with_mean(encoded, self.merge(weights @ values))

    def weights(self, encoded: Encoded) -> Tensor:
        queries, keys, _ = self._project(self.around.prepare(encoded.states), encoded.mask)
        scores = self.score(queries, keys)
        require_shape(self, "score", scores, "N×H×L×L", (*queries.shape[:3], keys.shape[2]))
        weights = masked_softmax(scores, self.visible(encoded.mask))
        return weights.masked_fill(~encoded.mask[:, None, :, None], 0.0)

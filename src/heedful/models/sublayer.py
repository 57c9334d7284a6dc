"""Layer norm, residual connection and dropout around an attention mechanism or a feed-forward network."""

from typing import Annotated, Any, Literal

from pydantic import Field
from torch import Tensor, nn

from heedful.kernels.layers import Dropout
from heedful.models.component import Encoded, Rate, TokenAttention, masked_mean, zero_padding

Norm = Literal["none", "pre", "post", "both"]


class Sublayer(nn.Module):
    """Layer norm, dropout and a residual connection around a function f of the states x.

    `norm` selects the output:
    none: x + Dropout(f(x));
    post: LayerNorm(x + Dropout(f(x))) (Vaswani et al. 2017, section 5.4);
    pre: x + Dropout(f(LayerNorm(x))) (Xiong et al. 2020, arXiv 2002.04745);
    both: LayerNorm(x + Dropout(f(LayerNorm(x)))). Without `residual`, x is not added. `output_dim` is that of f(x).
    """

    def __init__(
        self,
        input_dim: int,
        output_dim: int | None = None,
        /,
        *,
        residual: bool = True,
        norm: Norm = "pre",
        norm_eps: Annotated[float, Field(gt=0)] = 1e-5,
        dropout: Rate = 0.0,
        output_dropout: Rate = 0.0,
    ) -> None:
        super().__init__()
        result_dim = output_dim or input_dim
        if residual and result_dim != input_dim:
            raise ValueError(f"residual=True cannot add {input_dim} features to an output of {result_dim} features")
        self.residual = residual
        self.before = nn.LayerNorm(input_dim, norm_eps) if norm in ("pre", "both") else nn.Identity()
        self.after = nn.LayerNorm(result_dim, norm_eps) if norm in ("post", "both") else nn.Identity()
        self.dropout = Dropout(dropout)
        self.output_dropout = Dropout(output_dropout)

    def combine(self, states: Tensor, output: Tensor) -> Tensor:
        """Return the output of the sublayer for x = `states` and f(x) = `output`: N×L×D, N×L×D' → N×L×D'."""
        output = self.dropout(output)
        return self.output_dropout(self.after(states + output if self.residual else output))


class AttentionSublayer(Sublayer, TokenAttention):
    """A sublayer around an attention mechanism; the summary of self-attention is the mean of the final states."""

    def __init__(self, input_dim: int, attention: TokenAttention, **options: Any) -> None:
        if not isinstance(attention, TokenAttention):
            raise ValueError(f"{type(attention).__name__} has no output state for each token, as self-attention has")
        super().__init__(input_dim, attention.output_dim, **options)
        self.attention = attention
        self.output_dim = attention.output_dim
        self.per_token, self.sums_to_one = attention.per_token, attention.sums_to_one

    def transform(self, states: Tensor, mask: Tensor) -> Tensor:
        return self.combine(states, self.attention.transform(self.before(states), mask))

    def weights(self, encoded: Encoded) -> Tensor:
        return self.attention.weights(self._prepared(encoded))

    def mix(self, encoded: Encoded, weights: Tensor) -> Encoded:
        return self._finish(encoded, self.attention.mix(self._prepared(encoded), weights))

    def forward(self, encoded: Encoded) -> Encoded:
        return self._finish(encoded, self.attention(self._prepared(encoded)))

    def _prepared(self, encoded: Encoded) -> Encoded:
        return encoded._replace(states=self.before(encoded.states))

    def _finish(self, encoded: Encoded, attended: Encoded) -> Encoded:
        states = zero_padding(self.combine(encoded.states, attended.states), encoded.mask)
        return Encoded(states, encoded.mask, masked_mean(states, encoded.mask) if self.per_token else attended.summary)

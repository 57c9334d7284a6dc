"""Layer norm, residual connection and dropout around an attention layer or a feed-forward network."""

from collections.abc import Callable
from typing import Literal

from torch import Tensor, nn

from src.kernels.dropout import Dropout

Norm = Literal["none", "pre", "post", "both"]


class Sublayer(nn.Module):
    """Applies a function f to the states x, with layer norm, dropout and a residual connection.

    `norm` selects the output:
    none: x + Dropout(f(x));
    post: LayerNorm(x + Dropout(f(x))) (Vaswani et al. 2017, section 5.4);
    pre: x + Dropout(f(LayerNorm(x))) (Xiong et al. 2020, arXiv 2002.04745);
    both: LayerNorm(x + Dropout(f(LayerNorm(x)))). Without `residual`, x is not added.

    Args:
        input_dim: D, number of features of x.
        output_dim: D', number of features of f(x); None means D.
        norm_eps: constant added to the variance in layer norm.
        dropout: probability in [0, 1) of dropping a feature of f(x).
        output_dropout: probability in [0, 1) of dropping a feature of the final output.

    Raises:
        ValueError: if an option is outside its range, or if `residual` is set and D' differs from D.
    """

    def __init__(
        self,
        input_dim: int,
        *,
        output_dim: int | None = None,
        residual: bool = True,
        norm: Norm = "pre",
        norm_eps: float = 1e-5,
        dropout: float = 0.0,
        output_dropout: float = 0.0,
    ) -> None:
        super().__init__()
        result_dim = input_dim if output_dim is None else output_dim
        if norm not in ("none", "pre", "post", "both"):
            raise ValueError(f"norm={norm!r} must be one of none, pre, post, both")
        if residual and result_dim != input_dim:
            raise ValueError(f"residual=True cannot add {input_dim} features to an output of {result_dim} features")
        self.residual = residual
        self.before = nn.LayerNorm(input_dim, norm_eps) if norm in ("pre", "both") else nn.Identity()
        self.after = nn.LayerNorm(result_dim, norm_eps) if norm in ("post", "both") else nn.Identity()
        self.dropout = Dropout(dropout)
        self.output_dropout = Dropout(output_dropout, "output_dropout")

    def apply_around(self, function: Callable[[Tensor], Tensor], states: Tensor) -> Tensor:
        """Return the output of the sublayer for f = `function` and x = `states`: N×L×D → N×L×D'."""
        return self.combine(states, function(self.prepare(states)))

    def prepare(self, states: Tensor) -> Tensor:
        """Return the input of f, which is x or LayerNorm(x): N×L×D → N×L×D."""
        return self.before(states)

    def combine(self, states: Tensor, output: Tensor) -> Tensor:
        """Return the output of the sublayer for x = `states` and f(x) = `output`: N×L×D, N×L×D' → N×L×D'."""
        output = self.dropout(output)
        return self.output_dropout(self.after(states + output if self.residual else output))

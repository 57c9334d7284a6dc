"""The transformer encoder (Vaswani et al. 2017, section 3.1)."""

from typing import Any

from src.models.attention.multi_head import MultiHeadAttention
from src.models.encoder.stack import Stack


class Transformer(Stack):
    """Blocks of multi-head attention and a feed-forward network; the summary is the mean of the states.

    Args:
        heads: number of attention heads; must divide D, the number of features of a state.
        dropout: probability in [0, 1) of dropping an attention weight, a hidden feature, or a feature of a sublayer's
            output.
        options: other options of `Stack`.

    Raises:
        ValueError: if an option is outside its range, or if `heads` does not divide D.
    """

    def __init__(self, input_dim: int, *, heads: int = 4, dropout: float = 0.1, **options: Any) -> None:
        def attentions(dim: int) -> list[MultiHeadAttention]:
            return [MultiHeadAttention(dim, heads=heads, dropout=dropout)]

        super().__init__(input_dim, attentions, dropout=dropout, **options)

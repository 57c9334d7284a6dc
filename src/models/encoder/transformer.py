"""The transformer encoder (Vaswani et al. 2017, section 3.1)."""

from src.models.attention.multi_head import MultiHeadAttention
from src.models.encoder.feed_forward import Activation
from src.models.encoder.stack import BlockNorm, Stack


class Transformer(Stack):
    """Blocks of multi-head attention and a feed-forward network; the summary is the mean of the states.

    Args:
        input_dim: features of an embedded token.
        dim: D, number of features of a state; None means `input_dim`.
        layers: number of blocks.
        heads: number of attention heads; must divide D.
        feed_forward_dim: hidden features of the feed-forward network; None means 4 D.
        activation: relu or gelu.
        norm: pre (Xiong et al. 2020) or post (Vaswani et al. 2017).
        dropout: probability in [0, 1) of dropping an attention weight, a hidden feature, or a feature of a sublayer's
            output.

    Raises:
        ValueError: if an option is outside its range, or if `heads` does not divide D.
    """

    def __init__(
        self,
        input_dim: int,
        *,
        dim: int | None = None,
        layers: int = 2,
        heads: int = 4,
        feed_forward_dim: int | None = None,
        activation: Activation = "gelu",
        norm: BlockNorm = "pre",
        dropout: float = 0.1,
    ) -> None:
        super().__init__(
            input_dim,
            lambda state_dim: [MultiHeadAttention(state_dim, heads=heads, dropout=dropout)],
            dim=input_dim if dim is None else dim,
            layers=layers,
            feed_forward_dim=feed_forward_dim,
            activation=activation,
            norm=norm,
            dropout=dropout,
        )

"""A transformer with local windows and a global vector, for goals 3 and 4 of the elementwise document."""

from src.models.attention.elementwise import ElementwiseMixing, Gate
from src.models.attention.global_vector import VectorNorm
from src.models.attention.windowed import WindowedAttention
from src.models.encoder.feed_forward import Activation
from src.models.encoder.stack import BlockNorm, Mixing, Stack


class Hybrid(Stack):
    """Blocks of windowed attention, elementwise mixing with a global vector E, and a feed-forward network.

    Time and memory grow as L·window instead of L². The summary is the mean of the states.

    Args:
        input_dim: features of an embedded token.
        dim: D, number of features of a state; None means `input_dim`.
        layers: number of blocks.
        window: number of visible tokens on each side (≥ 1).
        heads: number of heads of windowed attention; must divide D.
        global_vector: include the elementwise mixing.
        gate: function of E: tanh, sigmoid or linear, which is the identity.
        vector_norm: normalization of E: layer, batch or none.
        feed_forward_dim: hidden features of the feed-forward network; None means 4 D.
        activation: relu or gelu.
        norm: pre or post.
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
        window: int = 32,
        heads: int = 4,
        global_vector: bool = True,
        gate: Gate = "tanh",
        vector_norm: VectorNorm = "layer",
        feed_forward_dim: int | None = None,
        activation: Activation = "gelu",
        norm: BlockNorm = "pre",
        dropout: float = 0.1,
    ) -> None:
        def attentions(state_dim: int) -> list[Mixing]:
            windowed = WindowedAttention(state_dim, window=window, heads=heads, dropout=dropout)
            if not global_vector:
                return [windowed]
            return [windowed, ElementwiseMixing(state_dim, gate=gate, vector_norm=vector_norm, dropout=dropout)]

        super().__init__(
            input_dim,
            attentions,
            dim=input_dim if dim is None else dim,
            layers=layers,
            feed_forward_dim=feed_forward_dim,
            activation=activation,
            norm=norm,
            dropout=dropout,
        )

"""A transformer with local windows and a global vector: goals 3 and 4 of the elementwise document."""

from src.models.attention.elementwise import ElementwiseMixing, Gate
from src.models.attention.global_vector import VectorNorm
from src.models.attention.windowed import WindowedAttention
from src.models.encoder.feed_forward import Activation
from src.models.encoder.stack import BlockNorm, Mixing, Stack


class Hybrid(Stack):
    """Blocks of windowed attention to neighbouring tokens and a global vector E of the whole text.

    Time and memory grow as L·window, not as L². The summary is the mean of the states.

    Args:
        input_dim: features of an embedded token.
        dim: D, features of a state; None means `input_dim`.
        layers: number of blocks.
        window: visible tokens on each side.
        heads: heads of the windowed attention; must divide D.
        global_vector: add elementwise mixing by a global vector E to every block.
        gate: tanh, sigmoid or linear, applied to E.
        vector_norm: layer or batch norm of E, or none.
        feed_forward_dim: hidden features of the feed-forward network; None means 4 D.
        activation: relu or gelu.
        norm: pre or post.
        dropout: probability in [0, 1), for attention weights, hidden features and the output of each sublayer.

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

"""A transformer with local windows and a global vector, for goals 3 and 4 of the elementwise document."""

from typing import Any

from heedful.models.attention.elementwise import ElementwiseMixing, Gate, VectorNorm
from heedful.models.attention.windowed import WindowedAttention
from heedful.models.component import Rate, Size, TokenAttention
from heedful.models.encoder.transformer import Stack


class Hybrid(Stack):
    """Blocks of windowed attention, elementwise mixing with a global vector E, and a feed-forward network.

    Time and memory grow as L·window instead of L². The summary is the mean of the states. Without `global_vector`,
    there is no elementwise mixing.
    """

    def __init__(
        self,
        input_dim: int,
        *,
        window: Size = 32,
        heads: Size = 4,
        global_vector: bool = True,
        gate: Gate = "tanh",
        vector_norm: VectorNorm = "layer",
        dropout: Rate = 0.1,
        **options: Any,
    ) -> None:
        def attentions(dim: int) -> list[TokenAttention]:
            windowed = WindowedAttention(dim, window=window, heads=heads, dropout=dropout)
            if not global_vector:
                return [windowed]
            return [windowed, ElementwiseMixing(dim, gate=gate, vector_norm=vector_norm, dropout=dropout)]

        super().__init__(input_dim, attentions, dropout=dropout, **options)

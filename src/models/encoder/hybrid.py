"""A transformer with local windows and a global vector, for goals 3 and 4 of the elementwise document."""

from typing import Any

from src.models.attention.elementwise import ElementwiseMixing, Gate
from src.models.attention.global_vector import VectorNorm
from src.models.attention.windowed import WindowedAttention
from src.models.encoder.stack import Mixing, Stack


class Hybrid(Stack):
    """Blocks of windowed attention, elementwise mixing with a global vector E, and a feed-forward network.

    Time and memory grow as L·window instead of L². The summary is the mean of the states.

    Args:
        window: number of visible tokens on each side (≥ 1).
        heads: number of heads of windowed attention; must divide D, the number of features of a state.
        global_vector: include the elementwise mixing.
        gate: function that is applied to E: tanh, sigmoid or linear (the identity).
        vector_norm: normalization of E: layer, batch or none.
        dropout: probability in [0, 1) of dropping an attention weight, a hidden feature, or a feature of a sublayer's
            output.
        options: other options of `Stack`.

    Raises:
        ValueError: if an option is outside its range, or if `heads` does not divide D.
    """

    def __init__(
        self,
        input_dim: int,
        *,
        window: int = 32,
        heads: int = 4,
        global_vector: bool = True,
        gate: Gate = "tanh",
        vector_norm: VectorNorm = "layer",
        dropout: float = 0.1,
        **options: Any,
    ) -> None:
        def attentions(dim: int) -> list[Mixing]:
            windowed = WindowedAttention(dim, window=window, heads=heads, dropout=dropout)
            if not global_vector:
                return [windowed]
            return [windowed, ElementwiseMixing(dim, gate=gate, vector_norm=vector_norm, dropout=dropout)]

        super().__init__(input_dim, attentions, dropout=dropout, **options)

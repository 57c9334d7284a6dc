"""The encoder of the elementwise document, with time and memory linear in the length of a text."""

from typing import Any

from torch import Tensor

from heedful.models.attention.elementwise import ElementwiseMixing, Gate, GlobalVector, VectorNorm
from heedful.models.component import Layers, Rate, Size, TokenAttention
from heedful.models.encoder.transformer import Activation, BlockNorm, Stack


class Elementwise(Stack):
    """Blocks of elementwise attention and a feed-forward network with layer norm before its activation.

    A last layer computes a global vector of the text, which is the summary. With `model/attention=none`,
    `model/pooling=last` returns this vector. A feed-forward network has `expanded_dim` hidden features.
    """

    inner_norm = True

    def __init__(
        self,
        input_dim: int,
        *,
        dim: Size | None = None,
        layers: Layers = 2,
        expanded_dim: Size | None = None,
        gate: Gate = "tanh",
        vector_norm: VectorNorm = "layer",
        activation: Activation = "relu",
        norm: BlockNorm = "pre",
        dropout: Rate = 0.1,
    ) -> None:
        state_dim = dim or input_dim
        expanded = expanded_dim or state_dim

        def attentions(dim: int) -> list[TokenAttention]:
            return [ElementwiseMixing(dim, expanded_dim=expanded, gate=gate, vector_norm=vector_norm, dropout=dropout)]

        options: dict[str, Any] = {"activation": activation, "norm": norm, "dropout": dropout}
        super().__init__(input_dim, attentions, dim=dim, layers=layers, feed_forward_dim=expanded, **options)
        self.vector = GlobalVector(state_dim, state_dim, norm=vector_norm, dropout=dropout)

    def summarize(self, states: Tensor, mask: Tensor) -> Tensor:
        return self.vector(states, mask)

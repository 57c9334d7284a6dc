"""The encoder of the elementwise document, with time and memory linear in the length of a text."""

from torch import Tensor

from src.models.attention.elementwise import ElementwiseMixing, Gate, GlobalVector, VectorNorm
from src.models.component import Layers, Rate, Size, TokenAttention
from src.models.encoder.transformer import Activation, BlockNorm, Stack


class Elementwise(Stack):
    """Blocks of elementwise attention and a feed-forward network with layer norm before its activation.

    A last layer computes a global vector of the text, which is the summary. With `model/attention=none`,
    `model/pooling=last` returns this vector.

    Args:
        input_dim: number of features of an embedded token.
        dim: D, number of features of a state; None means `input_dim`.
        layers: number of blocks before the last layer.
        expanded_dim: De, number of features of each block's global vector E, and number of hidden features of each
            feed-forward network; None means D.
        gate: function that is applied to E: tanh, sigmoid or linear (the identity).
        vector_norm: normalization of E and of the last layer's global vector: layer, batch or none.
        activation: activation function of the feed-forward networks: relu or gelu.
        norm: position of layer norm: pre (before a sublayer, as in the elementwise document) or post (after the
            residual connection).
        dropout: probability of dropping an attention weight, a hidden feature, or a feature of a sublayer's output.
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
        state_dim = input_dim if dim is None else dim
        expanded = state_dim if expanded_dim is None else expanded_dim

        def attentions(dim: int) -> list[TokenAttention]:
            return [ElementwiseMixing(dim, expanded_dim=expanded, gate=gate, vector_norm=vector_norm, dropout=dropout)]

        super().__init__(
            input_dim,
            attentions,
            dim=state_dim,
            layers=layers,
            feed_forward_dim=expanded,
            activation=activation,
            norm=norm,
            dropout=dropout,
        )
        self.vector = GlobalVector(state_dim, state_dim, norm=vector_norm, dropout=dropout)

    def summarize(self, states: Tensor, mask: Tensor) -> Tensor:
        return self.vector(states, mask)

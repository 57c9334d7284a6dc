"""The transformer encoder (Vaswani et al. 2017, section 3.1), and the stack of blocks that it shares with others."""

from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Literal

from torch import Tensor, nn

from heedful.kernels.layers import Dropout, Linear
from heedful.models.attention.self_attention import MultiHeadAttention
from heedful.models.component import Encoded, Encoder, Layers, Rate, Size, TokenAttention, masked_mean, zero_padding
from heedful.models.sublayer import AttentionSublayer, Sublayer

Activation = Literal["relu", "gelu"]
BlockNorm = Literal["pre", "post"]


class FeedForward(nn.Module):
    """Two linear layers: W_2 Dropout(act(W_1 x)), or W_2 Dropout(act(LayerNorm(W_1 x))) if `inner_norm`.

    The inner norm is that of the elementwise document.
    """

    def __init__(self, dim: int, hidden_dim: int, activation: Activation, dropout: float, inner_norm: bool) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            Linear(dim, hidden_dim),
            nn.LayerNorm(hidden_dim) if inner_norm else nn.Identity(),
            nn.ReLU() if activation == "relu" else nn.GELU(),
            Dropout(dropout),
            Linear(hidden_dim, dim),
        )

    def forward(self, states: Tensor) -> Tensor:
        return self.layers(states)


class Block(nn.Module):
    """Attention layers, then a feed-forward network, each with a residual connection, layer norm and dropout."""

    def __init__(
        self, attentions: Sequence[TokenAttention], feed_forward: FeedForward, dim: int, norm: BlockNorm, dropout: float
    ) -> None:
        super().__init__()
        self.attentions = nn.ModuleList(
            AttentionSublayer(dim, attention, norm=norm, dropout=dropout) for attention in attentions
        )
        self.around = Sublayer(dim, norm=norm, dropout=dropout)  # around the feed-forward network
        self.feed_forward = feed_forward

    def forward(self, states: Tensor, mask: Tensor, weights: list[Tensor] | None = None) -> Tensor:
        """Apply the block to the states N×L×D; padding may get any finite values.

        The weights N×H×L×L of each self-attention layer are appended to the list `weights`, if there is one.
        """
        attention: Any
        for attention in self.attentions:
            if weights is not None and attention.per_token:
                weights.append(attention.weights(Encoded(states, mask, masked_mean(states, mask))))
            states = attention.transform(states, mask)
        return self.around.combine(states, self.feed_forward(self.around.before(states)))


class Stack(Encoder):
    """A stack of blocks, followed by layer norm if norm=pre; inputs that do not have D features are projected first.

    The function `attentions` builds the attention layers of one block for states of D features.
    """

    inner_norm: ClassVar[bool] = False  # whether the feed-forward networks have layer norm before the activation

    def __init__(
        self,
        input_dim: int,
        attentions: Callable[[int], Sequence[TokenAttention]],
        /,
        *,
        dim: Size | None = None,
        layers: Layers = 2,
        feed_forward_dim: Size | None = None,
        activation: Activation = "gelu",
        norm: BlockNorm = "pre",
        dropout: Rate = 0.1,
    ) -> None:
        dim = dim or input_dim
        super().__init__(dim)
        hidden_dim = feed_forward_dim or 4 * dim
        self.enter = nn.Identity() if dim == input_dim else Linear(input_dim, dim)
        self.blocks = nn.ModuleList()
        for _ in range(layers):
            mixing = attentions(dim)
            network = FeedForward(dim, hidden_dim, activation, dropout, self.inner_norm)
            self.blocks.append(Block(mixing, network, dim, norm, dropout))
        self.leave = nn.LayerNorm(dim) if norm == "pre" else nn.Identity()

    def summarize(self, states: Tensor, mask: Tensor) -> Tensor:
        """Return the summary of each text: N×L×D → N×D."""
        return masked_mean(states, mask)

    def layer_weights(self, states: Tensor, mask: Tensor) -> list[Tensor]:
        states = self.enter(states)
        weights: list[Tensor] = []
        for block in self.blocks:
            states = block(states, mask, weights)
        return weights

    def forward(self, states: Tensor, mask: Tensor) -> Encoded:
        """Encode texts: N×L×input_dim → N×L×D."""
        states = self.enter(states)
        for block in self.blocks:
            states = block(states, mask)
        states = zero_padding(self.leave(states), mask)
        return Encoded(states, mask, self.summarize(states, mask))


class Transformer(Stack):
    """Blocks of multi-head attention and a feed-forward network; the summary is the mean of the states."""

    def __init__(self, input_dim: int, *, heads: Size = 4, dropout: Rate = 0.1, **options: Any) -> None:
        def attentions(dim: int) -> list[TokenAttention]:
            return [MultiHeadAttention(dim, heads=heads, dropout=dropout)]

        super().__init__(input_dim, attentions, dropout=dropout, **options)

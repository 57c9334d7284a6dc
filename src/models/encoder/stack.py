"""Stacks of blocks, from which the transformer, elementwise and hybrid encoders are built."""

from collections.abc import Callable, Sequence
from typing import Literal, Protocol

from torch import Tensor, nn

from src.kernels.linear import Linear
from src.models.component import Encoder
from src.models.encoder.feed_forward import Activation, FeedForward
from src.models.masking import masked_mean, zero_padding
from src.models.sublayer import Sublayer
from src.models.types import Encoded

BlockNorm = Literal["pre", "post"]
MOST_LAYERS = 1000  # more layers would take minutes to build, and are probably a mistake


class Mixing(Protocol):
    """The common interface of self-attention and elementwise mixing."""

    def transform(self, states: Tensor, mask: Tensor) -> Tensor: ...


class AttentionSublayer(Sublayer):
    """An attention layer with layer norm, dropout and a residual connection."""

    def __init__(self, attention: Mixing, dim: int, *, norm: BlockNorm, dropout: float) -> None:
        super().__init__(dim, norm=norm, dropout=dropout)
        self.attention = attention

    def forward(self, states: Tensor, mask: Tensor) -> Tensor:
        return self.apply_around(lambda prepared: self.attention.transform(prepared, mask), states)


class Block(nn.Module):
    """Attention layers and a feed-forward network, each with a residual connection, layer norm and dropout.

    Args:
        dim: D, number of features of a state.
        attentions: at least one attention layer; they are applied in this order.
        feed_forward: network that is applied last.
        norm: pre or post.
        dropout: probability in [0, 1) of dropping a feature of a sublayer's output.
    """

    def __init__(
        self,
        dim: int,
        attentions: Sequence[Mixing],
        feed_forward: FeedForward,
        *,
        norm: BlockNorm,
        dropout: float,
    ) -> None:
        super().__init__()
        if norm not in ("pre", "post"):
            raise ValueError(f"norm={norm!r} must be one of pre, post")
        self.attentions = nn.ModuleList(
            AttentionSublayer(attention, dim, norm=norm, dropout=dropout) for attention in attentions
        )
        self.around = Sublayer(dim, norm=norm, dropout=dropout)  # around the feed-forward network
        self.feed_forward = feed_forward

    def forward(self, states: Tensor, mask: Tensor) -> Tensor:
        """Apply the block to the states: N×L×D → N×L×D. Padding may get any finite values."""
        for attention in self.attentions:
            states = attention(states, mask)
        return self.around.apply_around(self.feed_forward, states)


class Stack(Encoder):
    """A stack of blocks, followed by a layer norm if norm=pre. Inputs are first projected to D features if necessary.

    Args:
        input_dim: features of an embedded token.
        attentions: function that builds the attention layers of one block for states of D features.
        dim: D, number of features of a state.
        layers: number of blocks, in [1, MOST_LAYERS].
        feed_forward_dim: hidden features of each feed-forward network; None means 4 D.
        activation: relu or gelu, in the feed-forward networks.
        inner_norm: add layer norm before the activation of the feed-forward networks.
        norm: pre or post.
        dropout: probability in [0, 1) of dropping a hidden feature, or a feature of a sublayer's output.

    Raises:
        ValueError: if an option is outside its range.
    """

    def __init__(
        self,
        input_dim: int,
        attentions: Callable[[int], Sequence[Mixing]],
        *,
        dim: int,
        layers: int,
        feed_forward_dim: int | None,
        activation: Activation,
        inner_norm: bool = False,
        norm: BlockNorm,
        dropout: float,
    ) -> None:
        super().__init__()
        if not 1 <= layers <= MOST_LAYERS:
            raise ValueError(f"layers={layers} must lie in [1, {MOST_LAYERS}]")
        if dim < 1:
            raise ValueError(f"dim={dim} must be at least 1")
        self.output_dim = dim
        self.enter = nn.Identity() if dim == input_dim else Linear(input_dim, dim)
        self.blocks = nn.ModuleList(
            Block(
                dim,
                attentions(dim),
                FeedForward(
                    dim, hidden_dim=feed_forward_dim, activation=activation, dropout=dropout, inner_norm=inner_norm
                ),
                norm=norm,
                dropout=dropout,
            )
            for _ in range(layers)
        )
        self.leave = nn.LayerNorm(dim) if norm == "pre" else nn.Identity()

    def summarize(self, states: Tensor, mask: Tensor) -> Tensor:
        """Return the summary of each text: N×L×D → N×D."""
        return masked_mean(states, mask)

    def forward(self, states: Tensor, mask: Tensor) -> Encoded:
        """Encode texts: N×L×input_dim → N×L×D."""
        states = self.enter(states)
        for block in self.blocks:
            states = block(states, mask)
        states = zero_padding(self.leave(states), mask)
        return Encoded(states, mask, self.summarize(states, mask))

"""The base class of the transformer, elementwise and hybrid encoders: a stack of blocks."""

from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Literal, Protocol

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
    """The interface that self-attention and elementwise mixing share."""

    def transform(self, states: Tensor, mask: Tensor) -> Tensor: ...


class AttentionSublayer(Sublayer):
    """Attention with layer norm, dropout and a residual connection."""

    def __init__(self, attention: Mixing, dim: int, *, norm: BlockNorm, dropout: float) -> None:
        super().__init__(dim, norm=norm, dropout=dropout)
        self.attention = attention

    def forward(self, states: Tensor, mask: Tensor) -> Tensor:
        return self.apply_around(lambda prepared: self.attention.transform(prepared, mask), states)

    def weights(self, states: Tensor, mask: Tensor) -> Tensor:
        """Return the weights N×H×L×L; the attention must be a `SelfAttention`."""
        attention: Any = self.attention
        return attention.weights(Encoded(self.prepare(states), mask, states[:, 0]))


class Block(nn.Module):
    """Attention layers and a feed-forward network, each with a residual connection, layer norm and dropout.

    The attention layers are applied in the given order, and the feed-forward network is applied last.

    Raises:
        ValueError: if `norm` is neither pre nor post, or if `dropout` is outside [0, 1).
    """

    def __init__(
        self, dim: int, attentions: Sequence[Mixing], feed_forward: FeedForward, *, norm: BlockNorm, dropout: float
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
    """A stack of blocks, followed by layer norm if norm=pre; inputs that do not have D features are projected first.

    Args:
        input_dim: number of features of an embedded token.
        attentions: function that builds the attention layers of one block for states of D features.
        dim: D, number of features of a state; None means `input_dim`.
        layers: number of blocks, in [1, 1000].
        feed_forward_dim: number of hidden features of each feed-forward network; None means 4 D.
        activation: activation function of the feed-forward networks: relu or gelu.
        norm: position of layer norm: pre (before a sublayer, Xiong et al. 2020) or post (after the residual connection,
            Vaswani et al. 2017).
        dropout: probability in [0, 1) of dropping a hidden feature, or a feature of a sublayer's output.

    Raises:
        ValueError: if an option is outside its range.
    """

    inner_norm: ClassVar[bool] = False  # whether the feed-forward networks have layer norm before the activation

    def __init__(
        self,
        input_dim: int,
        attentions: Callable[[int], Sequence[Mixing]],
        /,
        *,
        dim: int | None = None,
        layers: int = 2,
        feed_forward_dim: int | None = None,
        activation: Activation = "gelu",
        norm: BlockNorm = "pre",
        dropout: float = 0.1,
    ) -> None:
        super().__init__()
        dim = input_dim if dim is None else dim
        if not 1 <= layers <= MOST_LAYERS:
            raise ValueError(f"layers={layers} must lie in [1, {MOST_LAYERS}]")
        if dim < 1:
            raise ValueError(f"dim={dim} must be at least 1")
        self.output_dim = dim
        self.enter = nn.Identity() if dim == input_dim else Linear(input_dim, dim)
        self.blocks = nn.ModuleList()
        for _ in range(layers):
            mixing = attentions(dim)
            network = FeedForward(
                dim, hidden_dim=feed_forward_dim, activation=activation, dropout=dropout, inner_norm=self.inner_norm
            )
            self.blocks.append(Block(dim, mixing, network, norm=norm, dropout=dropout))
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

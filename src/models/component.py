"""The kinds of component that a model is built of, in the order of the data flow.

A component is built as `Component(input_dim, **options)` and exposes `output_dim`, the features that the next one
gets. A class of a user's own package derives from one of these, or from a base class that shares more
(`attention.query.QueryAttention`, `attention.self_attention.SelfAttention`, `pooling.base.Pooling`).
"""

from abc import ABC, abstractmethod

from torch import Tensor, nn

from src.models.types import Encoded


class Component(nn.Module, ABC):
    """One step of the data flow."""

    output_dim: int  # features of what it returns


class Embedding(Component):
    """Word vectors; built as `Embedding(vocabulary, **options)`."""

    def known(self, tokens: Tensor, mask: Tensor) -> Tensor:
        """The tokens that the model reads at all, N×L bool: every real one."""
        return mask

    @abstractmethod
    def forward(self, tokens: Tensor, mask: Tensor) -> Tensor:
        """N×L token ids, N×L bool → N×L×D vectors, zero on padding."""


class Position(Component):
    """The order of the tokens."""

    @abstractmethod
    def forward(self, states: Tensor, mask: Tensor) -> Tensor:
        """N×L×D, N×L bool → N×L×D."""


class Encoder(Component):
    """States that know their context."""

    @abstractmethod
    def forward(self, states: Tensor, mask: Tensor) -> Encoded:
        """N×L×D, N×L bool → states N×L×D', their mask and a summary N×D'."""


class Attention(Component):
    """A mixture of states, and the weights of the mixture."""

    @abstractmethod
    def weights(self, encoded: Encoded) -> Tensor:
        """Weights N×H×T×L: rows of real states sum to 1 over real tokens, padding gets 0."""

    @abstractmethod
    def forward_with_weights(self, encoded: Encoded) -> tuple[Encoded, Tensor]:
        """What `forward` and `weights` return."""

    @abstractmethod
    def forward(self, encoded: Encoded) -> Encoded:
        """States N×L×D → states N×T×D' and a summary N×D'."""


class Head(nn.Module, ABC):
    """Logits; built as `Head(input_dim, num_logits, **options)`."""

    @abstractmethod
    def forward(self, features: Tensor) -> Tensor:
        """N×D → N×num_logits."""

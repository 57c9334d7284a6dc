"""The base classes of a model's components, in the order of the data flow.

The constructor is `Component(input_dim, **options)`; `output_dim` is the number of features that the next component
gets. A class of a user's own package derives from one of these classes, or from a base class with more methods
(`attention.query.QueryAttention`, `attention.self_attention.SelfAttention`, `pooling.base.Pooling`).
"""

from abc import ABC, abstractmethod

from torch import Tensor, nn

from src.models.types import Encoded


class Component(nn.Module, ABC):
    """A step of the data flow."""

    output_dim: int  # features of the result


class Embedding(Component):
    """Word vectors; built as `Embedding(vocabulary, **options)`."""

    def known(self, tokens: Tensor, mask: Tensor) -> Tensor:
        """The tokens that the model uses, N×L bool; by default every real token."""
        return mask

    @abstractmethod
    def forward(self, tokens: Tensor, mask: Tensor) -> Tensor:
        """N×L token ids, N×L bool → N×L×D vectors, zero on padding."""


class Position(Component):
    """Adds the positions of the tokens."""

    @abstractmethod
    def forward(self, states: Tensor, mask: Tensor) -> Tensor:
        """N×L×D, N×L bool → N×L×D."""


class Encoder(Component):
    """Adds context to the states."""

    @abstractmethod
    def forward(self, states: Tensor, mask: Tensor) -> Encoded:
        """N×L×D, N×L bool → states N×L×D', their mask and a summary N×D'."""


class Attention(Component):
    """Mixes states, and returns the weights of the mixture."""

    @abstractmethod
    def weights(self, encoded: Encoded) -> Tensor:
        """Weights N×H×T×L: rows of real states sum to 1 over real tokens, padding gets 0."""

    @abstractmethod
    def forward_with_weights(self, encoded: Encoded) -> tuple[Encoded, Tensor]:
        """The results of `forward` and `weights`."""

    @abstractmethod
    def forward(self, encoded: Encoded) -> Encoded:
        """States N×L×D → states N×T×D' and a summary N×D'."""


class Head(nn.Module, ABC):
    """Computes the logits; built as `Head(input_dim, num_logits, **options)`."""

    @abstractmethod
    def forward(self, features: Tensor) -> Tensor:
        """N×D → N×num_logits."""

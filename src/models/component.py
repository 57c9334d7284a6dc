"""The base classes of a model's components, in the order of the data flow.

The constructor is `Component(input_dim, **options)`; `output_dim` is the number of features that the next component
gets. A constructor rejects an option with `ValueError("name=value must …")`: the dry build reads the option's name from
the start of the message.

A class of a user's own package derives from one of these classes, or from a base class with more methods
(`attention.query.QueryAttention`, `attention.self_attention.SelfAttention`, `pooling.base.Pooling`).
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, ClassVar

from torch import Tensor, nn

from src.models.types import Encoded


class Component(nn.Module, ABC):
    """A step of the data flow.

    Attributes:
        output_dim: features of the result; a head has none.
        is_pretrained: whether the constructor reads a pretrained model, which takes long.
        description_options: options that the constructor read from a pretrained model. A checkpoint stores them, so
            that the component can be rebuilt without that model.
    """

    output_dim: int
    is_pretrained: ClassVar[bool] = False
    description_options: Mapping[str, Any] = MappingProxyType({})

    def require_files(self) -> None:
        """Check that the files for `load_pretrained` exist; raises a UserError. By default there are no files."""

    def load_pretrained(self) -> None:
        """Load pretrained weights into a new component, if there are any; a Heed checkpoint contains them."""


class Embedding(Component):
    """Word vectors; built as `Embedding(vocabulary, **options)`."""

    def known(self, tokens: Tensor, mask: Tensor) -> Tensor:
        """The tokens that the model uses, N×L bool; by default every real token."""
        return mask

    def tokens_with_vectors(self) -> Tensor | None:
        """Whether each token of the vocabulary has a pretrained vector, bool; None without such vectors."""
        return None

    @abstractmethod
    def forward(self, tokens: Tensor, mask: Tensor) -> Tensor:
        """N×L token ids, N×L bool → N×L×D vectors, zero on padding."""


class Position(Component):
    """Adds the positions of the tokens."""

    def attach(self, encoder: "Encoder", attention: "Attention", /) -> None:
        """Connect the positions to the components that need them; raises a ValueError if one does not support them."""

    @abstractmethod
    def forward(self, states: Tensor, mask: Tensor) -> Tensor:
        """N×L×D, N×L bool → N×L×D."""


class Encoder(Component):
    """Adds context to the states."""

    def bind(self, embedding: Embedding) -> None:
        """Connect the encoder to the embedding; raises a ValueError if they are incompatible."""

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

    def forward(self, encoded: Encoded) -> Encoded:
        """States N×L×D → states N×T×D' and a summary N×D'."""
        return self.forward_with_weights(encoded)[0]

    def mix(self, encoded: Encoded, weights: Tensor) -> Encoded:
        """The result of `forward` with other weights N×H×T×L in place of the computed weights.

        Raises:
            NotImplementedError: by default, and if the result is not a mixture of states.
        """
        raise NotImplementedError(f"{type(self).__name__} cannot mix states with weights that are passed to it")


class Head(Component):
    """Computes the logits; built as `Head(input_dim, num_logits, **options)`."""

    @abstractmethod
    def forward(self, features: Tensor) -> Tensor:
        """N×D → N×num_logits."""

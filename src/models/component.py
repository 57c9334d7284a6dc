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
    """A component of a model, which computes one step of the data flow.

    Attributes:
        output_dim: number of features of the result; a head does not have this attribute.
        is_pretrained: whether the constructor reads a pretrained model, which takes long.
        description_options: options that the constructor read from a pretrained model. A checkpoint stores them, so
            that the component can be rebuilt without that model.
    """

    output_dim: int
    is_pretrained: ClassVar[bool] = False
    description_options: Mapping[str, Any] = MappingProxyType({})

    def require_files(self) -> None:
        """Raise a UserError if a file for `load_pretrained` does not exist. By default, no file is needed."""

    def load_pretrained(self) -> None:
        """Load pretrained weights into a new component; by default, do nothing.

        A component that is loaded from a Heed checkpoint does not need this: the checkpoint contains all weights.
        """


class Embedding(Component):
    """Word vectors; built as `Embedding(vocabulary, **options)`."""

    def known(self, tokens: Tensor, mask: Tensor) -> Tensor:
        """Return a mask N×L bool, True for tokens that the model uses; by default, for every real token."""
        return mask

    def tokens_with_vectors(self) -> Tensor | None:
        """Return a bool for each token of the vocabulary, True if the token has a pretrained vector.

        Returns None if the embedding has no pretrained vectors.
        """
        return None

    @abstractmethod
    def forward(self, tokens: Tensor, mask: Tensor) -> Tensor:
        """Return the vector of each token, zero on padding: N×L token ids, N×L bool → N×L×D."""


class Position(Component):
    """Adds information about the positions of the tokens to their states."""

    def attach(self, encoder: "Encoder", attention: "Attention", /) -> None:
        """Connect the positions to the encoder and the attention; by default, do nothing.

        Raises:
            ValueError: if these components do not support the positions.
        """

    @abstractmethod
    def forward(self, states: Tensor, mask: Tensor) -> Tensor:
        """Return the states with positions: N×L×D, N×L bool → N×L×output_dim."""


class Encoder(Component):
    """Adds the context of the text to the state of each token."""

    def bind(self, embedding: Embedding) -> None:
        """Connect the encoder to the embedding; by default, do nothing.

        Raises:
            ValueError: if the encoder is incompatible with the embedding.
        """

    @abstractmethod
    def forward(self, states: Tensor, mask: Tensor) -> Encoded:
        """Encode texts: N×L×D, N×L bool → states N×L×D', their mask and a summary N×D'."""


class Attention(Component):
    """Mixes states, and returns the weights of the mixture."""

    @abstractmethod
    def weights(self, encoded: Encoded) -> Tensor:
        """Return the weights N×H×T×L. Rows of real states sum to 1 over real tokens; padding gets 0."""

    @abstractmethod
    def forward_with_weights(self, encoded: Encoded) -> tuple[Encoded, Tensor]:
        """Return the results of `forward` and `weights`."""

    def forward(self, encoded: Encoded) -> Encoded:
        """Mix the states: N×L×D → states N×T×D' and a summary N×D'."""
        return self.forward_with_weights(encoded)[0]

    def mix(self, encoded: Encoded, weights: Tensor) -> Encoded:
        """Return the result of `forward` for `weights` N×H×T×L instead of the computed weights.

        Raises:
            NotImplementedError: by default, and if the result is not a mixture of states.
        """
        raise NotImplementedError(f"{type(self).__name__} cannot mix states with weights that are passed to it")


class Head(Component):
    """Computes the logits; built as `Head(input_dim, num_logits, **options)`."""

    @abstractmethod
    def forward(self, features: Tensor) -> Tensor:
        """Return the logits: N×D → N×num_logits."""

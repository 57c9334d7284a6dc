"""The base classes of a model's components, in the order of the data flow.

The constructor of a component is `Component(input_dim, **options)`; `Embedding` and `Head` describe the constructors of
embeddings and heads. A constructor rejects the value of an option with `ValueError("name=value must …")`, because
`src.dry_build` reads the name of the option from the beginning of the message.

A class in a user's own package derives from one of these classes, or from a base class with more methods
(`attention.query.QueryAttention`, `attention.self_attention.SelfAttention`, `pooling.base.Pooling`).
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, ClassVar

from torch import Tensor, nn

from src.models.types import Encoded


class Component(nn.Module, ABC):
    """A component, which computes one step of the model's data flow.

    Attributes:
        output_dim: number of features of the output, the next component's `input_dim`; a head has no `output_dim`.
        is_pretrained: whether the constructor may read a pretrained model, which can take a long time.
        description_options: options that the constructor read from a pretrained model. A checkpoint stores these
            options, so that the component can be rebuilt without the pretrained model.
    """

    output_dim: int
    is_pretrained: ClassVar[bool] = False
    description_options: Mapping[str, Any] = MappingProxyType({})

    def require_files(self) -> None:
        """Check that the files for `load_pretrained` exist and fit the options; by default, do nothing.

        Raises:
            UserError: if a file does not exist, or does not fit the options.
        """

    def load_pretrained(self) -> None:
        """Load pretrained weights into a new component; by default, do nothing.

        This method is not called when a checkpoint is loaded, because the checkpoint contains all weights.

        Raises:
            UserError: if the weights cannot be read, or do not fit the component.
        """


class Embedding(Component):
    """Word vectors; the constructor is `Embedding(vocabulary, **options)`."""

    def known(self, tokens: Tensor, mask: Tensor) -> Tensor:
        """Return a mask N×L, True for the real tokens that the model uses; by default, for all real tokens."""
        return mask

    def tokens_with_vectors(self) -> Tensor | None:
        """Return a mask over the vocabulary, True for tokens with a pretrained vector; by default, return None.

        None means that no token has a pretrained vector, or that a pretrained model provides all vectors.
        """
        return None

    @abstractmethod
    def forward(self, tokens: Tensor, mask: Tensor) -> Tensor:
        """Return the vector of each token, zero on padding: N×L token ids, N×L bool → N×L×D."""


class Position(Component):
    """A positional encoding, which gives the model information about the position of each token."""

    def attach(self, encoder: "Encoder", attention: "Attention", /) -> None:
        """Connect the positional encoding to the encoder and the attention; by default, do nothing.

        Raises:
            ValueError: if these components do not support the positional encoding.
        """

    @abstractmethod
    def forward(self, states: Tensor, mask: Tensor) -> Tensor:
        """Return the states with the positional encoding: N×L×D, N×L bool → N×L×output_dim."""


class Encoder(Component):
    """Computes a contextual state for each token."""

    def bind(self, embedding: Embedding) -> None:
        """Connect the encoder to the embedding; by default, do nothing.

        Raises:
            ValueError: if the encoder is incompatible with the embedding.
        """

    @abstractmethod
    def forward(self, states: Tensor, mask: Tensor) -> Encoded:
        """Encode texts: N×L×D, N×L bool → states N×L×D', their mask and a summary N×D'."""


class Attention(Component):
    """An attention mechanism, which combines the states of a text by means of attention weights."""

    @abstractmethod
    def weights(self, encoded: Encoded) -> Tensor:
        """Return the weights N×H×T×L. The row of a real state sums to 1 over the real tokens; padding gets 0."""

    @abstractmethod
    def forward_with_weights(self, encoded: Encoded) -> tuple[Encoded, Tensor]:
        """Return the results of `forward` and `weights`."""

    def forward(self, encoded: Encoded) -> Encoded:
        """Return the attention output: states N×L×D → states N×T×D' and a summary N×D'."""
        return self.forward_with_weights(encoded)[0]

    def mix(self, encoded: Encoded, weights: Tensor) -> Encoded:
        """Return the result of `forward` with `weights` N×H×T×L in place of the computed weights.

        Raises:
            NotImplementedError: if the class does not override this method.
        """
        raise NotImplementedError(f"{type(self).__name__} cannot compute its output from weights that are passed to it")


class Head(Component):
    """Computes the logits; the constructor is `Head(input_dim, num_logits, **options)`."""

    @abstractmethod
    def forward(self, features: Tensor) -> Tensor:
        """Return the logits: N×D → N×num_logits."""

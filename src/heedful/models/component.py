"""The parts of a model: `Encoded`, which flows between them, the base class of each kind, and operations with masks.

Letters in shapes: N texts, L tokens, T states, H heads, D features, C classes. Every mask is boolean; True marks a
real token or state, False marks padding.

The constructor of a component is `Component(input_dim, **options)`, where `input_dim` is D, the number of features of
its input; `Embedding` and `Head` describe the constructors of embeddings and heads. The comments in conf/model describe
the options. A rule that relates several options is an error `ValueError("name=value must …")`.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Annotated, Any, ClassVar, NamedTuple

import torch
from pydantic import Field
from torch import Tensor, nn

from heedful.data.padded_batches import Inputs

Size = Annotated[int, Field(ge=1)]  # a number of features, heads, rows, …
Rate = Annotated[float, Field(ge=0, lt=1)]  # the probability of dropping an element
Normalize = Callable[[Tensor, Tensor, int], Tensor]  # scores, mask and dimension → weights
Layers = Annotated[int, Field(ge=1, le=1000)]  # more layers would take minutes to build, and are probably a mistake


class Encoded(NamedTuple):
    """The states of each text, and a summary vector of the text; each component defines its own summary.

    Self-attention returns T = L states. Query attention returns the context vector as a sequence of T = 1 state, so
    that later components treat both alike.
    """

    states: Tensor  # N×T×D, zero where mask is False
    mask: Tensor  # N×T bool
    summary: Tensor  # N×D
    traits: Tensor | None = None  # N×T, of an attention with `has_traits`


class Component(nn.Module, ABC):
    """A component, which computes one step of the model's data flow.

    Attributes:
        output_dim: number of features of the output, the next component's `input_dim`; a head has no `output_dim`.
        description_options: options that the constructor read from a pretrained model. A checkpoint stores these
            options, so that the component can be rebuilt without the pretrained model.
        auxiliary_loss: the terms that the component adds to the training loss. The constructor sets {name: None};
            in training, `forward` sets {name: scalar}. Each term is logged as train/<name>.
    """

    output_dim: int
    is_pretrained: ClassVar[bool] = False
    description_options: Mapping[str, Any] = MappingProxyType({})
    auxiliary_loss: Mapping[str, Tensor | None] = MappingProxyType({})

    def __init__(self, output_dim: int | None = None, /) -> None:
        super().__init__()
        if output_dim is not None:
            self.output_dim = output_dim

    def load_pretrained(self) -> None:
        """Load pretrained weights into a new component; by default, do nothing.

        This method is not called when a checkpoint is loaded, because the checkpoint contains all weights. It raises a
        UserError if the weights cannot be read, or do not fit the component.
        """


class Embedding(Component):
    """Word vectors; the constructor is `Embedding(vocabulary, **options)`."""

    def known(self, inputs: Inputs) -> Tensor:
        """Return a mask N×L, True for the real tokens that the model uses; by default, for all real tokens."""
        return inputs.mask

    def tokens_with_vectors(self) -> Tensor | None:
        """Return a mask over the vocabulary, True for tokens with a pretrained vector; None if there are none."""
        return None

    @abstractmethod
    def forward(self, inputs: Inputs) -> Tensor:
        """Return the vector of each token, zero on padding: N×L×D."""


class Position(Component):
    """A positional encoding, which gives the model information about the position of each token."""

    def attach(self, encoder: "Encoder", attention: "Attention", /) -> None:
        """Connect the encoding to encoder and attention, or raise a ValueError if they do not support it."""

    @abstractmethod
    def forward(self, states: Tensor, mask: Tensor) -> Tensor:
        """Return the states with the positional encoding, zero on padding: N×L×D, N×L bool → N×L×output_dim."""


class Encoder(Component):
    """Computes a contextual state for each token.

    Attributes:
        reads_segments: whether `read` tells the two texts of a pair apart; otherwise, the classifier adds vectors.
    """

    reads_segments: ClassVar[bool] = False

    def read(self, states: Tensor, inputs: Inputs) -> Encoded:
        """Encode texts as `forward` does; an encoder may read more of the inputs than their mask."""
        encoded: Encoded = self(states, inputs.mask)
        return encoded

    def bind(self, embedding: Embedding) -> None:
        """Connect the encoder to the embedding, or raise a ValueError if they are incompatible."""

    def layer_weights(self, states: Tensor, mask: Tensor) -> list[Tensor]:
        """Return the weights N×H×L×L of each self-attention layer for the inputs of `forward`; by default, none."""
        return []

    @abstractmethod
    def forward(self, states: Tensor, mask: Tensor) -> Encoded:
        """Encode texts: N×L×D, N×L bool → states N×L×D', their mask and a summary N×D'."""


class Attention(Component):
    """An attention mechanism, which mixes the states of a text by attention weights.

    Attributes:
        per_token: whether there is a row of weights for each token (T = L), not one for the text (T = 1).
        per_class: whether head c has the weights of class c.
        sums_to_one: whether the row of each real state sums to 1.
        has_scores: whether `weights` calls `normalize`; each class that defines `weights` says so itself.
        has_traits: whether the attention reads `traits` of the tokens beside their states.
        normalizer: converts scores to weights (`models/normalizer.py`); None is softmax.
    """

    per_token: bool = False
    per_class: bool = False
    sums_to_one: bool = True
    has_scores: ClassVar[bool] = False
    has_traits: bool = False
    normalizer: Normalize | None = None

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if "weights" in vars(cls):
            cls.has_scores = vars(cls).get("has_scores", False)

    def bind(self, vocabulary: Sequence[str], num_logits: int) -> None:
        """Add the parameters and buffers that depend on the vocabulary and the size of the output; by default, none."""

    def traits(self, inputs: Inputs, embeddings: Tensor) -> Tensor:
        """Return a number for each token, which does not depend on padding: N×L ids, N×L×D → N×L."""
        raise NotImplementedError

    def normalize(self, scores: Tensor, mask: Tensor, dim: int = -1) -> Tensor:
        """Return the weights of the scores along `dim`; padding gets 0. The mask is broadcast to the scores."""
        return (self.normalizer or masked_softmax)(scores, mask, dim)

    def redefines(self, owner: type, *methods: str) -> bool:
        """Return whether this subclass of `owner` redefines one of the methods for which `owner` has a fast path."""
        return any(getattr(type(self), name) is not getattr(owner, name) for name in methods)

    @abstractmethod
    def weights(self, encoded: Encoded) -> Tensor:
        """Return the weights N×H×T×L; padding gets 0."""

    @abstractmethod
    def mix(self, encoded: Encoded, weights: Tensor) -> Encoded:
        """Return the output for the given weights N×H×T×L: states N×L×D → states N×T×D' and a summary N×D'."""

    def forward(self, encoded: Encoded) -> Encoded:
        """Return the output for the computed weights; in training, with dropout."""
        return self.mix(encoded, self.weights(encoded))


class TokenAttention(Attention):
    """An attention mechanism with one output state for each token, which can be wrapped in an `AttentionSublayer`."""

    @abstractmethod
    def transform(self, states: Tensor, mask: Tensor) -> Tensor:
        """Return the output states, N×L×D → N×L×D', as `forward`, except that padding may get any finite values."""


class Pooling(Component):
    """Combines states into one vector: N×T×D → N×`width`·D."""

    width: ClassVar[int] = 1  # number of vectors of D features that are concatenated

    def __init__(self, input_dim: int) -> None:
        super().__init__(self.width * input_dim)

    @abstractmethod
    def forward(self, encoded: Encoded) -> Tensor:
        """Return one vector for each text."""


class Head(Component):
    """Computes the logits; the constructor is `Head(input_dim, num_logits, **options)`."""

    @abstractmethod
    def forward(self, features: Tensor) -> Tensor:
        """Return the logits: N×D → N×num_logits."""


# Operations on the real states of padded texts. The result for a text without real tokens is zero, never NaN. Most of
# them multiply by the mask or add a bias, which is several times as fast as `masked_fill` on a CPU; padding must
# therefore be finite.


def masked_softmax(scores: Tensor, mask: Tensor, dim: int = -1) -> Tensor:
    """Return the softmax over the real entries along `dim`; padding gets exactly 0.

    The mask is broadcast to the scores. The weights sum to 1 along `dim`, or are all 0 if no entry is real.
    """
    return torch.softmax(scores + _padding_bias(scores, mask), dim) * mask


def _padding_bias(values: Tensor, mask: Tensor) -> Tensor:
    """Return 0 on real entries and half the lowest finite value on padding; -inf would give NaN if no entry is real."""
    return values.new_zeros(mask.shape).masked_fill_(~mask, torch.finfo(values.dtype).min / 2)


def zero_padding(states: Tensor, mask: Tensor) -> Tensor:
    """Set padding to zero: N×T×D, N×T → N×T×D."""
    return states * mask.unsqueeze(-1)


def masked_sum(states: Tensor, mask: Tensor) -> Tensor:
    """Return the sum of the real states: N×T×D, N×T → N×D."""
    return zero_padding(states, mask).sum(1)


def masked_mean(states: Tensor, mask: Tensor) -> Tensor:
    """Return the mean of the real states: N×T×D, N×T → N×D."""
    count = mask.sum(1, keepdim=True).clamp(min=1)  # N×1
    return masked_sum(states, mask) / count


def masked_max(states: Tensor, mask: Tensor) -> Tensor:
    """Return the maximum of each feature over the real states: N×T×D, N×T → N×D."""
    # max, because the backward pass of amax takes twice as long
    highest = (states + _padding_bias(states, mask.unsqueeze(-1))).max(1).values
    return highest.masked_fill(~mask.any(1, keepdim=True), 0.0)


def state_at(states: Tensor, mask: Tensor, last: bool) -> Tensor:
    """Return the last or first real state of each row, whose padding may be anywhere: N×T×D, N×T → N×D."""
    steps = torch.arange(mask.shape[1], device=mask.device)
    positions = (steps * mask).amax(1) if last else mask.int().argmax(1)  # N
    selected = states[torch.arange(states.shape[0], device=mask.device), positions]
    return selected.masked_fill(~mask.any(1, keepdim=True), 0.0)

"""The one flow: embedding → position → encoder → attention → pooling → head."""

from typing import Any, Protocol, runtime_checkable

import torch
from torch import Tensor, nn

from src.models.component import Attention, Embedding, Encoder, Head, Position
from src.models.layer_weights import record_layer_weights
from src.models.pooling.base import Pooling
from src.models.types import Encoded


@runtime_checkable
class Pretrained(Protocol):
    """A part that starts from weights made elsewhere; a checkpoint of ours does not need them any more."""

    def load_pretrained(self) -> None: ...


@runtime_checkable
class DescribesItself(Protocol):
    """A part that looks some of its options up elsewhere; given these, it is built again without looking."""

    description_options: dict[str, Any]


class Classifier(nn.Module):
    """A text classifier of interchangeable parts, each built with the output size of the one before."""

    def __init__(
        self,
        embedding: Embedding,
        position: Position,
        encoder: Encoder,
        attention: Attention,
        pooling: Pooling,
        head: Head,
    ) -> None:
        super().__init__()
        self.embedding = embedding
        self.position = position
        self.encoder = encoder
        self.attention = attention
        self.pooling = pooling
        self.head = head

    def load_pretrained(self) -> None:
        """Let every part that starts from pretrained weights read them.

        Raises:
            UserError: if a file of weights is missing or does not fit.
        """
        for part in self.children():
            if isinstance(part, Pretrained):
                part.load_pretrained()

    def description_options(self) -> dict[str, dict[str, Any]]:
        """Options that parts looked up elsewhere, by part: a checkpoint must carry them to be used alone."""
        return {
            name: part.description_options for name, part in self.named_children() if isinstance(part, DescribesItself)
        }

    def _read(self, tokens: Tensor, mask: Tensor) -> tuple[Encoded, Tensor | None]:
        """Encode the tokens that the embedding knows, moved to the front; also the order N×L, None if none moved."""
        known = self.embedding.known(tokens, mask)  # N×L
        order = None
        if known is not mask:
            order = torch.argsort((~known).to(torch.uint8), dim=1, stable=True)
            tokens, mask = tokens.gather(1, order), known.gather(1, order)
        states = self.position(self.embedding(tokens, mask), mask)
        return self.encoder(states, mask), order

    def forward(self, tokens: Tensor, mask: Tensor) -> Tensor:
        """Logits of each text: N×L ids, N×L bool → N×num_logits. Padding stands behind the text."""
        encoded, _ = self._read(tokens, mask)
        return self.head(self.pooling(self.attention(encoded)))

    def weights(self, tokens: Tensor, mask: Tensor) -> Tensor:
        """The attention's weights N×H×T×L over the tokens as given; tokens that were dropped get 0."""
        encoded, order = self._read(tokens, mask)
        return _as_given(self.attention.weights(encoded), order)

    def forward_with_weights(self, tokens: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        """Logits N×num_logits and weights N×H×T×L, for the price of reading the texts once."""
        encoded, order = self._read(tokens, mask)
        attended, weights = self.attention.forward_with_weights(encoded)
        return self.head(self.pooling(attended)), _as_given(weights, order)

    def layer_weights(self, tokens: Tensor, mask: Tensor) -> dict[str, Tensor]:
        """The weights N×H×L×L of each layer of the encoder that has such, by its name, over the tokens as given."""
        with record_layer_weights(self.encoder) as seen:
            _, order = self._read(tokens, mask)
        return {name: _as_given(weights, order) for name, weights in seen.items()}

    def token_weights(self, tokens: Tensor, mask: Tensor) -> Tensor:
        """How much of the attention each token gets, N×L: the mean over heads and over rows of real states."""
        return mean_weights(self.weights(tokens, mask))


def _as_given(weights: Tensor, order: Tensor | None) -> Tensor:
    """Weights N×H×T×L of tokens in this order N×L (None: none moved) as weights of the tokens as they were given."""
    if order is None:
        return weights
    back = torch.argsort(order, dim=1)[:, None, None, :]  # where each given token went
    weights = weights.gather(3, back.expand_as(weights))
    if weights.shape[2] == order.shape[1]:  # token × token: the rows were moved as well
        weights = weights.gather(2, back.transpose(2, 3).expand_as(weights))
    return weights


def mean_weights(weights: Tensor) -> Tensor:
    """N×H×T×L → N×L: the mean over heads and over real rows (those that hold any weight)."""
    real = weights.sum((1, 3)) > 0  # N×T
    rows = weights.mean(1).sum(1)  # N×L
    return rows / real.sum(1, keepdim=True).clamp(min=1)

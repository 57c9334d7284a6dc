"""The model: embedding → position → encoder → attention → pooling (+ columns) → head."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from heedful.data.padded_batches import Inputs
from heedful.models.branch import NgramBranch
from heedful.models.columns import ColumnEmbedding
from heedful.models.component import Attention, Component, Embedding, Encoded, Encoder, Head, Pooling, Position
from heedful.models.embedding.segments import SegmentEmbedding


class Classifier(nn.Module):
    """A text classifier composed of interchangeable components; the output of one is the input of the next.

    Beside them, a linear branch, whose logits are mixed with the others in evaluation, `segments`, which tell the texts
    of pairs apart, and `columns`, which add further features of a text to its pooled vector, may be None.
    """

    def __init__(
        self,
        embedding: Embedding,
        position: Position,
        encoder: Encoder,
        attention: Attention,
        pooling: Pooling,
        head: Head,
        branch: NgramBranch | None = None,
        segments: SegmentEmbedding | None = None,
        columns: ColumnEmbedding | None = None,
    ) -> None:
        super().__init__()
        self.embedding = embedding
        self.position = position
        self.encoder = encoder
        self.attention = attention
        self.pooling = pooling
        self.head = head
        self.branch, self.segments, self.columns = branch, segments, columns
        # states of a frozen encoder by token ids, if they were computed before; None for other texts
        self.stored_states: Callable[[Inputs], Encoded | None] | None = None
        self._with_loss = [part for part in self.modules() if isinstance(part, Component) and part.auxiliary_loss]

    @property
    def used_branch(self) -> NgramBranch | None:
        """The linear branch; None if there is none, or its weight is 0."""
        return self.branch if self.branch is not None and self.branch.weight > 0 else None

    @property
    def auxiliary_names(self) -> tuple[str, ...]:
        """The names of the terms that components add to the training loss."""
        return tuple(dict.fromkeys(name for part in self._with_loss for name in part.auxiliary_loss))

    def take_auxiliary_losses(self) -> dict[str, Tensor]:
        """Return the terms that the last `forward` in training added to the loss, summed by name, and forget them."""
        terms: dict[str, Tensor] = {}
        for part in self._with_loss:
            for name, value in part.auxiliary_loss.items():
                if value is not None:
                    terms[name] = terms[name] + value if name in terms else value
            part.auxiliary_loss = dict.fromkeys(part.auxiliary_loss)
        return terms

    @property
    def is_random(self) -> bool:
        """Whether the seed changes predictions: not if a branch, which draws no random numbers, has all the weight."""
        return self.branch is None or self.branch.chooses_weight or bool(self.branch.weight < 1)

    def load_pretrained(self) -> None:
        """Load the weights of every pretrained component."""
        component: Any
        for component in self.children():
            component.load_pretrained()

    def description_options(self) -> dict[str, dict[str, Any]]:
        """Return the nonempty `description_options` of the components by component name, to store in a checkpoint."""
        parts: dict[str, Any] = dict(self.named_children())
        return {name: dict(part.description_options) for name, part in parts.items() if part.description_options}

    def drop_unknown(self, inputs: Inputs) -> tuple[Inputs, Tensor | None]:
        """Move the tokens that the embedding knows to the beginning of each text, and mask all others as padding.

        The second result is the original position of each token, N×L. It is None if the embedding returned the mask
        itself, so that all tokens keep theirs.
        """
        known = self.embedding.known(inputs)  # N×L
        if known is inputs.mask:
            return inputs, None
        order = torch.argsort((~known).to(torch.uint8), dim=1, stable=True)
        segments = None if inputs.segments is None else inputs.segments.gather(1, order)
        return Inputs(inputs.ids.gather(1, order), known.gather(1, order), segments, inputs.columns), order

    def has_known_token(self, inputs: Inputs, unknown_id: int | None) -> Tensor:
        """Return whether each text has a token that is in the vocabulary and that the model uses, N bool."""
        known = inputs.mask if self.used_branch else self.embedding.known(inputs)  # N×L
        return (known if unknown_id is None else known & (inputs.ids != unknown_id)).any(1)

    def encode(self, inputs: Inputs, embeddings: Tensor | None = None) -> Encoded:
        """Return the encoded texts; `embeddings` N×L×D replace those of the tokens."""
        embeddings = self.embedding(inputs) if embeddings is None else embeddings
        encoded = self.encoder.read(self._positioned(embeddings, inputs), inputs)
        return self._with_traits(encoded, inputs, embeddings)

    def _positioned(self, embeddings: Tensor, inputs: Inputs) -> Tensor:
        """Return the input of the encoder: the vectors N×L×D of the tokens, their texts and positions."""
        embeddings = embeddings if self.segments is None else self.segments(embeddings, inputs)
        states: Tensor = self.position(embeddings, inputs.mask)
        return states

    def _with_traits(self, encoded: Encoded, inputs: Inputs, embeddings: Tensor | None = None) -> Encoded:
        """Add the traits of the tokens, if the attention reads any."""
        if not self.attention.has_traits:
            return encoded
        embeddings = self.embedding(inputs) if embeddings is None else embeddings
        return encoded._replace(traits=self.attention.traits(inputs, embeddings))

    def classify(self, encoded: Encoded, columns: Tensor | None = None, weights: Tensor | None = None) -> Tensor:
        """Return logits N×num_logits, without the branch; `weights` N×H×T×L replace the computed attention weights."""
        pooled = self.pooling(self.attention(encoded) if weights is None else self.attention.mix(encoded, weights))
        return self.head(pooled if self.columns is None else self.columns(pooled, columns))

    def forward(self, inputs: Inputs) -> Tensor:
        """Return the logits of each text, N×num_logits. Padding must follow the text."""
        encoded, _ = self._read(inputs)
        return self._logits(encoded, inputs)

    def _read(self, inputs: Inputs) -> tuple[Encoded, Tensor | None]:
        """Return the encoded known tokens, computed only if they are not stored, and their original positions."""
        known, order = self.drop_unknown(inputs)
        stored = None if self.stored_states is None else self.stored_states(known)
        return self.encode(known) if stored is None else self._with_traits(stored, known), order

    def separate_logits(self, inputs: Inputs, of_branch: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """Return the logits without those of the branch, and those of the branch, N×num_logits each, if not given."""
        assert self.branch is not None
        encoded, _ = self._read(inputs)
        logits = self.classify(encoded, inputs.columns).float()
        return logits, self.branch(inputs).float() if of_branch is None else of_branch

    def _logits(self, encoded: Encoded, inputs: Inputs) -> Tensor:
        """Return the logits of encoded texts; in evaluation, the weighted mean of them and those of the branch."""
        logits = self.classify(encoded, inputs.columns)
        if self.branch is None or self.training:
            return logits
        return torch.lerp(logits.float(), self.branch(inputs).float(), self.branch.weight.float())

    def weights(self, inputs: Inputs) -> Tensor:
        """Return the attention weights N×H×T×L, with the tokens in their original order; dropped tokens get 0."""
        encoded, order = self._read(inputs)
        return _restore_order(self.attention.weights(encoded), order, self.attention.per_token)

    def forward_with_weights(self, inputs: Inputs) -> tuple[Tensor, Tensor]:
        """Return the results of `forward` and `weights`, for which the texts are encoded only once."""
        encoded, order = self._read(inputs)
        weights = _restore_order(self.attention.weights(encoded), order, self.attention.per_token)
        return self._logits(encoded, inputs), weights

    def layer_weights(self, inputs: Inputs) -> dict[str, Tensor]:
        """Return the weights N×H×L×L of each self-attention layer of the encoder, named "encoder 1", "encoder 2", ….

        The tokens are in their original order; dropped tokens get 0.
        """
        known, order = self.drop_unknown(inputs)
        layers = self.encoder.layer_weights(self._positioned(self.embedding(known), known), known.mask)
        return {f"encoder {i}": _restore_order(weights, order, True) for i, weights in enumerate(layers, 1)}

    def token_weights(self, inputs: Inputs) -> Tensor:
        """Return the share of each token in the attention weights, N×L, which sum to 1 over a text with tokens.

        It is the mean over heads and over the rows of real states, divided by the sum if that need not be 1.
        """
        weights = mean_weights(self.weights(inputs))
        return weights if self.attention.sums_to_one else weights / weights.sum(1, keepdim=True).clamp(min=1e-12)


def _restore_order(weights: Tensor, order: Tensor | None, per_token: bool) -> Tensor:
    """Return weights N×H×T×L with the tokens, which the rows may be, too, at their original positions, if any."""
    if order is None:
        return weights
    inverse = torch.argsort(order, dim=1)[:, None, None, :]  # new position of each original token
    weights = weights.gather(3, inverse.expand_as(weights))
    if per_token:
        weights = weights.gather(2, inverse.transpose(2, 3).expand_as(weights))
    return weights


def mean_weights(weights: Tensor) -> Tensor:
    """Return the mean weight of each token over heads and over the rows with nonzero weights: N×H×T×L → N×L."""
    real = weights.sum((1, 3)) != 0  # N×T
    rows = weights.mean(1).sum(1)  # N×L
    return rows / real.sum(1, keepdim=True).clamp(min=1)

"""Predictions for texts, each with the weight of every word."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch

from src.data.codec import Codec
from src.data.order import by_length
from src.models.classifier import Classifier, mean_weights
from src.models.loss import Loss
from src.models.types import Batch

HEADS_WORDS = 64  # of a text with more, the map is the mean over heads
MAP_WORDS = 512  # of a text with more there is no map


@dataclass(frozen=True)
class Explained:
    """A text's prediction and what the attention looked at.

    Args:
        predicted: the most probable class.
        probabilities: of each class, in the order of the class names.
        words: the tokens as written in the text.
        weights: of each word, summing to 1 over the text.
        matrix: token × token weights, H×L×L, or 1×L×L for the mean over heads of a text of more than 64 words; None
            where the attention has no such map, where the text has more than 512 words, or where none was asked for.
        layers: the same of each of the encoder's own attentions, by the layer's name, of texts of at most 64 words.
    """

    predicted: str
    probabilities: list[float]
    words: list[str]
    weights: list[float]
    matrix: np.ndarray | None
    layers: dict[str, np.ndarray] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """For JSON: weights in six decimals, maps in four."""
        return {
            "predicted": self.predicted,
            "probabilities": self.probabilities,
            "words": self.words,
            "weights": [round(weight, 6) for weight in self.weights],
            "matrix": None if self.matrix is None else _plain(self.matrix),
            "layers": {name: _plain(matrix) for name, matrix in self.layers.items()},
        }

    def top(self, count: int = 10) -> list[tuple[str, float]]:
        """The most attended words, largest weight first."""
        pairs = zip(self.words, self.weights, strict=True)
        return sorted(pairs, key=lambda pair: -pair[1])[:count]


def _plain(matrix: np.ndarray) -> Any:
    return matrix.astype(np.float64).round(4).tolist()


@torch.inference_mode()
def explain(
    model: Classifier, loss: Loss, codec: Codec, texts: Sequence[str], batch_size: int = 32, maps: bool = True
) -> list[Explained]:
    """Classify texts and weigh their words.

    Args:
        model: a trained model; it is put into evaluation mode.
        loss: makes probabilities of its logits.
        codec: its tokenizer and class names.
        texts: any number of texts.
        batch_size: texts at a time.
        maps: keep token × token maps.
    """
    model.eval()
    device = next(model.parameters()).device
    explained: dict[int, Explained] = {}
    builder, words = codec.read(texts, device)
    for rows in by_length(builder.lengths, batch_size, rank=0, world_size=1):
        told = _batch(model, loss, codec.class_names, builder(rows), [words[row] for row in rows], maps)
        explained.update(zip(rows.tolist(), told, strict=True))
    return [explained[i] for i in range(len(texts))]


def _batch(
    model: Classifier, loss: Loss, class_names: Sequence[str], batch: Batch, words: Sequence[list[str]], maps: bool
) -> Iterator[Explained]:
    tokens, mask = batch.tokens, batch.mask
    logits, given = model.forward_with_weights(tokens, mask)
    probabilities = loss.probabilities(logits).cpu()  # N×C
    weights = given.float()  # N×H×T×L
    means = mean_weights(weights).cpu()  # N×L
    short = mask.sum(1) <= HEADS_WORDS if maps else torch.zeros(len(words), dtype=torch.bool)
    layers = _layers(model, tokens[short], mask[short])
    at = (short.cumsum(0) - 1).tolist()  # row among the short ones
    for row, own in enumerate(words):
        size = len(own)
        alone = bool(short[row]) and size > 1
        matrix = None
        if maps and weights.shape[2] == tokens.shape[1] and 1 < size <= MAP_WORDS:
            heads = weights[row, :, :size, :size]  # H×L×L
            matrix = (heads if size <= HEADS_WORDS else heads.mean(0, keepdim=True)).cpu().numpy()
        yield Explained(
            predicted=class_names[int(probabilities[row].argmax())],
            probabilities=probabilities[row].tolist(),
            words=own,
            weights=means[row, :size].tolist(),
            matrix=matrix,
            layers={name: held[at[row], :, :size, :size] for name, held in layers.items()} if alone else {},
        )


def _layers(model: Classifier, tokens: torch.Tensor, mask: torch.Tensor) -> dict[str, np.ndarray]:
    """The maps N×H×L×L of the encoder's layers, of texts of at most HEADS_WORDS words; none of no texts."""
    if not len(tokens):
        return {}
    longest = max(1, int(mask.sum(1).max()))
    found = model.layer_weights(tokens[:, :longest], mask[:, :longest])
    return {name: weights.float().cpu().numpy() for name, weights in found.items()}

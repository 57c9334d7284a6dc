"""Predictions for texts with the attention weight of every word."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import torch

from src.data.batch_order import by_length
from src.data.codec import Codec
from src.data.padded_batches import Batch
from src.models.classifier import Classifier, mean_weights
from src.models.loss import Loss

HEADS_WORDS = 64  # maximum number of words of a text whose explanation has a matrix for each head
MAP_WORDS = 512  # maximum number of words of a text whose explanation has a matrix


@dataclass(frozen=True)
class Explanation:
    """The prediction for a text with its attention weights.

    Args:
        predicted: the most probable class.
        probabilities: the probability of each class, in the order of the class names.
        words: the tokens as spelled in the text.
        weights: the attention weight of each word; the weights sum to 1 over the text.
        matrix: token × token weights H×L×L; the mean over heads, 1×L×L, if the text has more than 64 words. None if the
            attention has no row of weights for each token, if the text has fewer than 2 or more than 512 words, or if
            maps are disabled.
        layers: token × token weights H×L×L of the encoder's attention layers by name, for texts of 2 to 64 words;
            empty for other texts, and if maps are disabled.
        cut: the part of a truncated text that the model reads, such as 'first 500 of 20,000 tokens'; otherwise empty.
        is_unknown: whether the model knows none of the words, so that the prediction does not depend on the words.
    """

    predicted: str
    probabilities: list[float]
    words: list[str]
    weights: list[float]
    matrix: np.ndarray | None
    layers: dict[str, np.ndarray] = field(default_factory=dict)
    cut: str = ""
    is_unknown: bool = False

    def to_dict(self) -> dict[str, Any]:
        """Convert all fields but `is_unknown` to plain containers for JSON.

        Weights are rounded to six decimal places, and matrices to four.
        """
        return {
            "predicted": self.predicted,
            "probabilities": self.probabilities,
            "words": self.words,
            "cut": self.cut,
            "weights": [round(weight, 6) for weight in self.weights],
            "matrix": None if self.matrix is None else _rounded(self.matrix),
            "layers": {name: _rounded(matrix) for name, matrix in self.layers.items()},
        }


def _rounded(matrix: np.ndarray) -> Any:
    return matrix.astype(np.float64).round(4).tolist()


@torch.inference_mode()
def explain(
    model: Classifier, loss: Loss, codec: Codec, texts: Sequence[str], batch_size: int = 32, maps: bool = True
) -> list[Explanation]:
    """Set the model to evaluation mode, classify texts, and return an explanation of each text.

    Args:
        maps: whether to include the token × token weights.
    """
    model.eval()
    device = next(model.parameters()).device
    explanations: dict[int, Explanation] = {}
    batches, words = codec.read(texts, device)
    for rows in by_length(batches.lengths, batch_size, rank=0, world_size=1):
        batch = _explain_batch(model, loss, codec, batches(rows), [words[row] for row in rows], maps)
        for row, explanation in zip(rows.tolist(), batch, strict=True):
            cut = codec.truncation.describe_cut(int(batches.offsets[row + 1] - batches.offsets[row]))
            explanations[row] = replace(explanation, cut=cut)
    return [explanations[i] for i in range(len(texts))]


def _explain_batch(
    model: Classifier, loss: Loss, codec: Codec, batch: Batch, words: Sequence[list[str]], maps: bool
) -> Iterator[Explanation]:
    tokens, mask = batch.tokens, batch.mask
    logits, weights = model.forward_with_weights(tokens, mask)
    probabilities = loss.probabilities(logits).cpu()  # N×C
    weights = weights.float()  # N×H×T×L
    means = mean_weights(weights).cpu()  # N×L
    is_known = known_tokens(model, codec, batch).any(1).tolist()
    short = mask.sum(1) <= HEADS_WORDS if maps else torch.zeros(len(words), dtype=torch.bool)
    layers = _layer_maps(model, tokens[short], mask[short])
    short_rows = (short.cumsum(0) - 1).tolist()  # index of each short text in `layers`
    for row, text_words in enumerate(words):
        size = len(text_words)
        layer_maps = {}
        if short[row] and size > 1:
            layer_maps = {name: stack[short_rows[row], :, :size, :size] for name, stack in layers.items()}
        matrix = None
        if maps and model.attention.per_token and 1 < size <= MAP_WORDS:
            heads = weights[row, :, :size, :size]  # H×L×L
            matrix = (heads if size <= HEADS_WORDS else heads.mean(0, keepdim=True)).cpu().numpy()
        yield Explanation(
            predicted=codec.class_names[int(probabilities[row].argmax())],
            probabilities=probabilities[row].tolist(),
            words=text_words,
            weights=means[row, :size].tolist(),
            matrix=matrix,
            layers=layer_maps,
            is_unknown=not is_known[row],
        )


def known_tokens(model: Classifier, codec: Codec, batch: Batch) -> torch.Tensor:
    """Return whether each token is in the vocabulary and used by the model, N×L bool."""
    known = model.embedding.known(batch.tokens, batch.mask)
    unknown_id = codec.tokenizer.unknown_id
    return known if unknown_id is None else known & (batch.tokens != unknown_id)


def _layer_maps(model: Classifier, tokens: torch.Tensor, mask: torch.Tensor) -> dict[str, np.ndarray]:
    """Return the weights N×H×L×L of each attention layer of the encoder, by name; {} if there are no texts."""
    if not len(tokens):
        return {}
    longest = max(1, int(mask.sum(1).max()))
    layers = model.layer_weights(tokens[:, :longest], mask[:, :longest])
    return {name: weights.float().cpu().numpy() for name, weights in layers.items()}

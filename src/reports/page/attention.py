"""Attention weights for the pages: the words of a text with their colours, and word × word maps."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from src.records.examples import Example
from src.reports.words import MAP_QUANTILE, clean_weights, colour_limit

MEAN = "mean"
RESOLUTION = 10_000  # weights are stored as integer multiples of 1/10,000, the precision of maps in attention.json


class Word(NamedTuple):
    """A word of a text with its colour."""

    text: str
    depth: float  # depth of the colour, 0 to 1
    tooltip: str


class TokenMap(NamedTuple):
    """The word × word weights of one head, or of the mean over heads."""

    layer: str
    head: str
    limit: float  # the weight that gets the full colour
    integers: list[int]  # L·L multiples of 1/10,000, row by row


class TokenMaps(NamedTuple):
    """The maps of a text, and the choices of the pickers that select a map."""

    size: int  # L
    layers: dict[str, str]  # value → label
    heads: dict[str, str]  # value → label; empty if no layer has several heads
    maps: list[TokenMap]


def coloured_words(words: Sequence[str], weights: np.ndarray) -> list[Word]:
    """Return the words with the depth of their colour and a tooltip that shows the weight.

    Raises:
        ValueError: if the numbers of words and weights differ.
    """
    weights = clean_weights(words, weights)
    limit, uniform = colour_limit(weights), 1 / max(1, len(weights))
    return [
        Word(word, weight / limit, f"weight {weight:.4f}, {weight / uniform:.1f} × uniform")
        for word, weight in zip(words, weights.tolist(), strict=True)
    ]


def token_maps(example: Example) -> TokenMaps | None:
    """Return the maps of a text; None if the text has no word × word weights.

    Each layer has a map of the mean over heads and, if there are several heads, a map of each head.
    """
    if not example.maps:
        return None
    max_heads = max(map(len, example.maps.values()))
    heads = {MEAN: "mean of heads"} | {str(head): f"head {head}" for head in range(1, max_heads + 1)}
    maps = []
    for layer, matrix in example.maps.items():
        maps.append(_token_map(layer, MEAN, matrix.mean(0)))
        if len(matrix) > 1:
            maps += [_token_map(layer, str(head), weights) for head, weights in enumerate(matrix, 1)]
    layers = {layer: layer for layer in example.maps}
    return TokenMaps(len(example.words), layers, heads if max_heads > 1 else {}, maps)


def _token_map(layer: str, head: str, weights: np.ndarray) -> TokenMap:
    finite = np.nan_to_num(weights, nan=0.0, posinf=0.0, neginf=0.0)
    return TokenMap(
        layer, head, colour_limit(finite, MAP_QUANTILE), np.rint(RESOLUTION * finite).astype(int).ravel().tolist()
    )

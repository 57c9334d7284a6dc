"""A text as a strip: the background of each word shows its attention weight."""

from collections.abc import Sequence

import numpy as np

from src.reports.page.html import Html, tag
from src.reports.words import clean_weights, colour_limit

CAPTION = (
    "The stronger the colour of a word, the larger its attention weight; hover over a word to show the weight. The "
    "full colour is the largest weight of the text, but at least three times the uniform weight."
)


def strip(words: Sequence[str], weights: np.ndarray) -> Html:
    """The text with coloured words; the tooltip of a word shows its weight.

    Raises:
        ValueError: the numbers of words and weights differ.
    """
    weights = clean_weights(words, weights)
    limit, uniform = colour_limit(weights), 1 / max(1, len(weights))
    spans = []
    for word, weight in zip(words, weights.tolist(), strict=True):
        tooltip = f"weight {weight:.4f}, {weight / uniform:.1f} × uniform"
        spans.append(tag("span", word, style=f"--w:{weight / limit:.3f}", title=tooltip))
    return tag("p", Html(" ".join(spans)), class_="strip", dir="auto")


def weight_readout() -> Html:
    """The output element for the weight of the word under the pointer."""
    return tag("output", "Hover over a word or a bar to show its weight.", class_="readout needs-script")

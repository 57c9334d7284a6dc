"""A text in which the depth of a word's colour is its weight."""

from collections.abc import Sequence

import numpy as np

from src.reports.page.html import Html, tag
from src.reports.words import clean_weights, colour_limit

CAPTION = (
    "The deeper its colour, the more weight a word has; hover over it for the number. Full colour is the heaviest word "
    "of a text, or three times an even share where no word weighs that much."
)


def strip(words: Sequence[str], weights: np.ndarray) -> Html:
    """The text, coloured; hovering over a word shows its weight.

    Raises:
        ValueError: not one weight for each word.
    """
    weights = clean_weights(words, weights)
    strongest, even = colour_limit(weights), 1 / max(1, len(weights))
    spans = []
    for word, weight in zip(words, weights.tolist(), strict=True):
        said = f"weight {weight:.4f}, {weight / even:.1f} × even"
        spans.append(tag("span", word, style=f"--w:{weight / strongest:.3f}", title=said))
    return tag("p", Html(" ".join(spans)), class_="strip", dir="auto")


def weight_readout() -> Html:
    """Where the page writes the weight of the word under the pointer."""
    return tag("output", "Hover over a word or a bar to read its weight.", class_="reading needs-script")

"""Words and their weights, as tables, pictures and pages show them."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np


class WeightedWord(NamedTuple):
    """A word of a text with its weight."""

    position: int  # 0 is the first word
    word: str
    weight: float


def top_words(words: Sequence[str], weights: np.ndarray, count: int = 10) -> list[WeightedWord]:
    """The most attended words, heaviest first, then earliest; a repeated word counts each time."""
    weights = clean_weights(words, weights)
    order = np.argsort(-weights, kind="stable")[:count]
    return [WeightedWord(int(at), words[at], float(weights[at])) for at in order]


def clean_weights(words: Sequence[str], weights: np.ndarray) -> np.ndarray:
    """The weights as float64 with 0 for NaN and infinity.

    Raises:
        ValueError: not one weight for each word.
    """
    weights = np.asarray(weights, dtype=np.float64)
    if weights.shape != (len(words),):
        raise ValueError(f"weights are {weights.shape} for {len(words)} words: give one weight a word")
    return np.nan_to_num(weights, nan=0.0, posinf=0.0, neginf=0.0)


def colour_limit(weights: np.ndarray) -> float:
    """The weight shown in the strongest colour; the last axis is the one that sums to 1.

    The largest, but at least three times an even share, so that words which all weigh the same stay pale.
    """
    if weights.size == 0:
        return 1.0
    return max(float(weights.max()), min(1.0, 3 / weights.shape[-1]))


def clean_text(word: str, longest: int = 28) -> str:
    """The word as a single short line: what cannot be printed left out, a space shown as an open box."""
    shown = "".join(letter for letter in word if letter.isprintable()).strip() or "\N{OPEN BOX}"
    return shown if len(shown) <= longest else shown[: longest - 1] + "…"

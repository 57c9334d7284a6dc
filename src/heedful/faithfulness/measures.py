"""The measures of rankings: erasure of the top-ranked tokens.

The class c is always the one that the model predicts for the whole text. Results have one row for each ranking.
"""

from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np

from heedful.models.probe import Probe, TokenIds
from heedful.runs.faithfulness_record import SHARES

Ranked = Mapping[str, list[np.ndarray]]  # by ranking, the positions of each text's tokens, the most important first
Erase = Callable[[np.ndarray, np.ndarray], np.ndarray]  # tokens of a text, and positions → tokens after the erasure


class Predicted(NamedTuple):
    """n texts with their predicted classes."""

    texts: TokenIds
    classes: np.ndarray  # n int64
    probabilities: np.ndarray  # n, probability of the predicted class for the whole text


def rank(scores: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return the positions of the tokens by descending score; equal scores are in random order."""
    return np.lexsort((rng.random(len(scores)), -scores))


def erased_counts(length: int) -> np.ndarray:
    """Return the number of tokens to erase for each of SHARES, at least 1: 5 int64."""
    return np.maximum(1, np.rint(np.array(SHARES) * length)).astype(np.int64)


def retain(tokens: np.ndarray, positions: np.ndarray) -> np.ndarray:
    """Return only the tokens at these positions, in the order of the text."""
    return tokens[np.sort(positions)]


def erase_shares(probe: Probe, predicted: Predicted, ranked: Ranked, erase: Erase) -> np.ndarray:
    """Return p(c|x) − p(c|x after the erasure) for every ranking, text and share of top-ranked tokens: R×n×5.

    If `erase` is `np.delete`, this is comprehensiveness (DeYoung et al. 2020, eq. 1), which faithful rankings make
    high; if it is `retain`, this is sufficiency (eq. 2), which they make low.
    """
    texts, orders = predicted.texts, list(ranked.values())
    counts = np.array([erased_counts(len(text)) for text in texts])  # n×5
    erasures = [(r, i, count) for r in range(len(orders)) for i in range(len(texts)) for count in np.unique(counts[i])]
    erased = [erase(texts[i], orders[r][i][:count]) for r, i, count in erasures]
    after = probe.probability(erased, predicted.classes[[i for _, i, _ in erasures]])
    drops = np.empty((len(orders), *counts.shape))
    for (r, i, count), probability in zip(erasures, after, strict=True):
        drops[r, i, counts[i] == count] = predicted.probabilities[i] - probability
    return drops

"""Erasure of tokens: the order and number of the erased tokens, the remaining text."""

import numpy as np

from src.records.faithfulness import SHARES


def counts(length: int) -> np.ndarray:
    """Return the number of tokens to erase for each of SHARES, at least 1: 5 int64."""
    return np.maximum(1, np.rint(np.array(SHARES) * length)).astype(np.int64)


def rank(scores: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return the positions of the tokens by descending score; equal scores are in random order."""
    return np.lexsort((rng.random(len(scores)), -scores))


def retain(tokens: np.ndarray, positions: np.ndarray) -> np.ndarray:
    """Return only the tokens at these positions, in the order of the text."""
    return tokens[np.sort(positions)]


def replace(tokens: np.ndarray, positions: np.ndarray, token: int) -> np.ndarray:
    """Return the text with `token` at these positions."""
    replaced = tokens.copy()
    replaced[positions] = token
    return replaced


def replace_others(tokens: np.ndarray, positions: np.ndarray, token: int) -> np.ndarray:
    """Return the text with `token` at every position that is not in `positions`."""
    return replace(tokens, np.delete(np.arange(len(tokens)), positions), token)

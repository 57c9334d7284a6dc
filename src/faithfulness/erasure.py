"""Erasure of tokens: the order and number of the erased tokens, the remaining text, and the normalized effect."""

import numpy as np

SHARES = (0.01, 0.05, 0.1, 0.2, 0.5)  # shares of tokens that are erased (DeYoung et al. 2020, section 4.2)
MIN_RANGE = 1e-6  # smallest distance between a text's limits for which a normalized value is defined


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


def normalize(values: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Return (value − low) / (high − low): 0 at the lower, 1 at the upper limit; NaN if high − low < MIN_RANGE."""
    is_defined = high - low >= MIN_RANGE
    return np.where(is_defined, (values - low) / np.where(is_defined, high - low, 1), np.nan)

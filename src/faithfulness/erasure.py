"""The erasure of tokens from texts: the erased tokens, and the remaining text."""

import numpy as np

SHARES = (0.01, 0.05, 0.1, 0.2, 0.5)  # shares of tokens that are erased (DeYoung et al. 2020, section 4.2)
MIN_RANGE = 1e-6  # of a text's limits; below, the normalized value is not defined


def counts(length: int) -> np.ndarray:
    """The number of tokens of each share of a text: at least one."""
    return np.maximum(1, np.rint(np.array(SHARES) * length)).astype(np.int64)


def rank(scores: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Positions by descending score; equal scores are in random order."""
    return np.lexsort((rng.random(len(scores)), -scores))


def remove(tokens: np.ndarray, positions: np.ndarray) -> np.ndarray:
    """The text without these tokens, which is shorter."""
    return np.delete(tokens, positions)


def retain(tokens: np.ndarray, positions: np.ndarray) -> np.ndarray:
    """The text of these tokens alone, in their order in the text."""
    return tokens[np.sort(positions)]


def replace(tokens: np.ndarray, positions: np.ndarray, token: int) -> np.ndarray:
    """The text with another token at these positions."""
    replaced = tokens.copy()
    replaced[positions] = token
    return replaced


def normalize(values: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """(value − low) / (high − low), 0 at the lower limit and 1 at the upper; NaN if the limits coincide."""
    is_defined = high - low >= MIN_RANGE
    return np.where(is_defined, (values - low) / np.where(is_defined, high - low, 1), np.nan)

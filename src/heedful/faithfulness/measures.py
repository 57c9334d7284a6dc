"""The measures of rankings: erasure of the top-ranked tokens, decision flips, and agreement with other rankings.

The class c is always the one that the model predicts for the whole text. Results have one row for each ranking.
"""

from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np
from scipy.stats import kendalltau

from heedful.faithfulness.probe import Probe, Scores, TokenIds
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


def flip_grid(length: int) -> np.ndarray:
    """Return the Fibonacci numbers 1, 2, 3, 5, 8, … below `length`, and `length` - 1; empty for a text of one token."""
    numbers = [1, 2]
    while numbers[-1] < length:
        numbers.append(numbers[-1] + numbers[-2])
    return np.unique([number for number in numbers if number < length] + [length - 1] * (length > 1))


def decision_flips(probe: Probe, predicted: Predicted, ranked: Ranked) -> np.ndarray:
    """Return the smallest share of tokens whose removal, from the top of a ranking, changes the predicted class: R×n.

    The measure is from Serrano & Smith (2019). Only the numbers of tokens that `flip_grid` returns are tried. The
    share is 1 if no such removal changes the predicted class.
    """
    grids, orders = [flip_grid(len(text)) for text in predicted.texts], list(ranked.values())
    shares = np.ones((len(orders), len(grids)))
    pending = [(r, i) for r in range(len(orders)) for i in range(len(grids))]
    for step in range(max(map(len, grids), default=0)):
        pending = [(r, i) for r, i in pending if step < len(grids[i])]
        if not pending:
            break
        shorter = [np.delete(predicted.texts[i], orders[r][i][: grids[i][step]]) for r, i in pending]
        is_changed = probe.probabilities(shorter).argmax(1) != predicted.classes[[i for _, i in pending]]
        for r, i in (pair for pair, changed in zip(pending, is_changed, strict=True) if changed):
            shares[r, i] = grids[i][step] / len(predicted.texts[i])
        pending = [pair for pair, changed in zip(pending, is_changed, strict=True) if not changed]
    return shares


def kendall(attention: Scores, other: Scores) -> np.ndarray:
    """Return Kendall's τ-b between each text's attention weights and the absolute values of other scores: n.

    τ is NaN if the weights or the absolute values are constant. Jain & Wallace (2019, algorithm 1) use the absolute
    gradient, and the total variation distance between the predictions with and without the token. For two classes,
    these equal the absolute values of the scores in `heedful.faithfulness.rankings`. The measure replicates that study:
    agreement does not show which ranking is faithful (Neely et al. 2022).
    """
    pairs = [(weights, np.abs(scores)) for weights, scores in zip(attention, other, strict=True)]
    return np.array([kendalltau(a, b).statistic if np.ptp(a) > 0 and np.ptp(b) > 0 else np.nan for a, b in pairs])

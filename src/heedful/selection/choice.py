"""Which of several models to use, from their scores on the same texts, by differences that are paired by text."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from scipy.special import ndtr, ndtri

from heedful.terms.intervals import FOLD_VARIANCE

LEVEL = 0.05  # of all tests together
LOOKS = (3.3, 2.8, 2.5, 2.33)  # standard errors after 1, 2, 3 and more folds (as O'Brien and Fleming 1979)
AHEAD = 1.3  # standard errors of a model that is probably better
FEWEST_FOLDS = 3  # of a candidate that may be chosen
SAME_COST = 1.5  # a factor below which costs are called alike
CHANCE = 0.05  # of being named in the end: with less, a model is no longer trained
DRAWS = 500


class Gain(NamedTuple):
    """How much better one model is than another, positive if it is better."""

    value: float
    error: float  # standard error
    low: float  # of the interval
    high: float

    @classmethod
    def of(cls, differences: np.ndarray, tests: int = 1) -> "Gain":
        """Return the mean of n differences, with an interval that holds for this many comparisons at once."""
        value = float(differences.mean())
        error = float(np.sqrt(FOLD_VARIANCE * differences.var(ddof=1) / len(differences)))
        width = float(ndtri(1 - LEVEL / 2 / tests)) * error
        return cls(value, error, value - width, value + width)


@dataclass(frozen=True)
class Choice:
    """The model that is named, and why.

    Args:
        reason: clearly: shown to be better than the cheapest, by the interval that holds for all models; probably: the
            highest mean, more than AHEAD standard errors ahead, at a negligible cost; cheapest: neither.
        chosen, best: the positions of the named model, and of the highest mean.
        gains: of each model over the cheapest, the first one.
    """

    reason: Literal["clearly", "probably", "cheapest"]
    chosen: int
    best: int
    gains: tuple[Gain, ...]


def choose(terms: np.ndarray, is_negligible: Sequence[bool]) -> Choice:
    """Choose a model.

    Args:
        terms: k×n scores of k models, the cheapest first, on n texts; higher is better.
        is_negligible: k, whether a model costs hardly more than the first one.
    """
    gains = tuple(Gain.of(row - terms[0], max(1, len(terms) - 1)) for row in terms)
    best = int(terms.mean(1).argmax())
    shown = [row for row in range(1, len(gains)) if gains[row].low > 0]
    if shown:
        top = max(shown, key=lambda row: gains[row].value)
        chosen = next(row for row in shown if row == top or Gain.of(terms[top] - terms[row]).low <= 0)
        return Choice("clearly", chosen, best, gains)
    if best and gains[best].value > AHEAD * gains[best].error and is_negligible[best]:
        return Choice("probably", best, best, gains)
    return Choice("cheapest", 0, best, gains)


def corrected_score(terms: np.ndarray, is_negligible: Sequence[bool], seed: int = 0) -> tuple[float, float, float]:
    """Return the score of the chosen model without the luck of its choice, and its 95 % interval.

    The choice is repeated on texts that are drawn with replacement, and scored on the texts that were not drawn
    (BBC-CV: Tsamardinos, Greasidou and Borboudakis 2018).
    """
    rng, texts, scores = np.random.default_rng(seed), terms.shape[1], []
    for _ in range(DRAWS):
        drawn = rng.integers(0, texts, texts)
        others = np.flatnonzero(np.bincount(drawn, minlength=texts) == 0)
        if len(others):
            scores.append(terms[choose(terms[:, drawn], is_negligible).chosen, others].mean())
    low, high = np.quantile(scores, [0.025, 0.975])
    return float(np.mean(scores)), float(low), float(high)


def find_beaten(
    terms: np.ndarray, racing: Collection[int], folds: int, costs: Sequence[float], of: int
) -> dict[int, tuple[str, int]]:
    """Return the models that end, with the reason and the best one so far; the first model stays.

    They are those that are clearly worse, and those that are hardly ever named in the end. One that is no cheaper than
    the best is named only if it is shown to be better, and a cheaper one only if it is not shown to be worse. The z of
    the difference after all folds is predicted from the one so far, whose share of the folds is t: it has the mean
    z / √t and the variance (1 − t) / t (predictive power: Spiegelhalter, Freedman and Blackburn 1986).

    Args:
        terms: k×n scores on the texts that all racing models have classified, of so many folds; higher is better.
        costs: of the k models.
        of: number of all folds.
    """
    leader = max(racing, key=lambda row: terms[row].mean())
    limit, share, ends = LOOKS[min(folds, len(LOOKS)) - 1], folds / of, dict[int, tuple[str, int]]()
    for row in set(racing) - {0, leader}:
        gain = Gain.of(terms[row] - terms[leader])
        z = gain.value / gain.error if gain.error else 0.0
        is_cheaper = costs[row] * SAME_COST < costs[leader]
        needed = float(ndtri(1 - LEVEL / 2)) * (-1 if is_cheaper else 1)
        chance = ndtr((z / share**0.5 - needed) / ((1 - share) / share) ** 0.5)
        if z < -limit or chance < CHANCE:
            ends[row] = ("worse than" if is_cheaper or z < -limit else "no cheaper and no better than"), leader
    return ends


def is_decided(terms: np.ndarray, folds: int) -> bool:
    """Return whether the only other racing model is so much better than the first that more folds would not matter.

    Args:
        terms: k×n scores of the k racing models, the first one first; higher is better.
    """
    if len(terms) != 2 or folds < FEWEST_FOLDS:
        return False
    gain = Gain.of(terms[1] - terms[0])
    return gain.value > LOOKS[min(folds, len(LOOKS)) - 1] * gain.error

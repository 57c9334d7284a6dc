"""Decision flips (Serrano and Smith 2019): `python -m studies.faithfulness.flips <runs>`."""

import numpy as np

from heedful.faithfulness.measurement import rank_texts
from heedful.faithfulness.measures import Predicted, Ranked
from heedful.faithfulness.trained import ProbedRun, SampledTexts
from heedful.models.probe import Probe
from studies.faithfulness.script import Arrays, by_ranking, compute_chunks, study

HEADINGS = {"flip": "removed until the class changes (low)"}


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


def compute(trained: ProbedRun, sample: SampledTexts, seed: int) -> Arrays:
    def of_chunk(chunk: np.ndarray) -> Arrays:
        rngs = [np.random.default_rng([seed, row]) for row in sample.rows[chunk].tolist()]
        ranked = rank_texts(trained.probe, [sample.texts[i] for i in chunk], rngs)
        flips = decision_flips(trained.probe, ranked.predicted, ranked.orders)
        return by_ranking(ranked.orders, "flip", flips)

    return compute_chunks(trained, sample, of_chunk)


if __name__ == "__main__":
    study("flips", __doc__, compute, HEADINGS)

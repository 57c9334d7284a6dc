"""Simulate how often a shortlist names a worse model than the cheapest one: python -m benchmarks.shortlist_rates.

Each text has a difficulty that all models share. In a fold, all texts of a model share an effect of its training texts,
as large as FOLD_VARIANCE says for its difference from another model. The truth is the accuracy on all texts.
"""

import argparse
from collections.abc import Sequence

import numpy as np
from scipy.special import ndtri

from heedful.selection.choice import FOLD_VARIANCE, choose, find_beaten, is_decided

FOLDS, WORTH = 5, 0.01
SITUATIONS = {  # the accuracies of the models, the cheapest first
    "all equal, 80 %": (0.8, 0.8, 0.8, 0.8),
    "all equal, 60 %": (0.6, 0.6, 0.6, 0.6),
    "all equal, 95 %": (0.95, 0.95, 0.95, 0.95),
    "others 1 point worse": (0.8, 0.79, 0.79, 0.79),
    "others 2 points worse": (0.8, 0.78, 0.78, 0.78),
    "others 5 points worse": (0.8, 0.75, 0.75, 0.75),
    "one 1 point better": (0.8, 0.81, 0.78, 0.78),
    "one 2 points better": (0.8, 0.82, 0.78, 0.78),
    "one 5 points better": (0.8, 0.85, 0.78, 0.78),
    "two 5 points better": (0.8, 0.85, 0.85, 0.78),
}


def simulate(accuracies: np.ndarray, texts: int, rng: np.random.Generator, shared: float = 0.7) -> np.ndarray:
    """Return hits, models × texts: a model is right if its noisy view of a text exceeds the text's difficulty."""
    folds = np.arange(texts) % FOLDS
    noise = np.sqrt(shared) * rng.normal(size=texts) + np.sqrt(1 - shared) * rng.normal(size=(len(accuracies), texts))
    hits = (noise < ndtri(accuracies)[:, None]).astype(float)
    variance = (hits[1:] - hits[0]).var(1).mean() / texts  # of a difference, without the folds
    deviation = np.sqrt((FOLD_VARIANCE - 1) * variance / 2 * FOLDS)
    shifts = rng.normal(0, deviation, (len(accuracies), FOLDS))
    shifted = np.clip(accuracies[:, None] + shifts, 0.001, 0.999)[:, folds]
    return (noise < ndtri(shifted)).astype(float)


def race(hits: np.ndarray, costs: Sequence[int]) -> tuple[str, int, int]:
    """Return the reason of the choice, the model that is named and the number of trainings of a race over the folds."""
    folds, racing = np.arange(hits.shape[1]) % FOLDS, list(range(len(hits)))
    trainings = 0
    for fold in range(FOLDS):
        trainings += len(racing)
        seen = hits[:, folds <= fold]
        if fold < FOLDS - 1:
            beaten = find_beaten(seen, racing, fold + 1, costs, FOLDS)
            racing = [row for row in racing if row not in beaten]
            if is_decided(seen[racing], fold + 1):
                break
    choice = choose(seen[racing], [True] * len(racing))
    return choice.reason, racing[choice.chosen], trainings


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=2000)
    parser.add_argument("--texts", type=int, nargs="+", default=[600, 1500])
    parser.add_argument("--costs", type=int, nargs=4, default=[1, 2, 4, 8], help="of the four models")
    args = parser.parse_args()
    head = (
        "situation",
        "texts",
        "cheapest",
        "clearly",
        "probably",
        "clearly, worse",
        "probably, worse",
        "best",
        "trainings",
    )
    print(*head, sep=" | ")
    for name, accuracies in SITUATIONS.items():
        truth = np.array(accuracies)
        for texts in args.texts:
            rng = np.random.default_rng(texts)
            found = [race(simulate(truth, texts, rng), args.costs) for _ in range(args.draws)]
            reasons = np.array([reason for reason, *_ in found])
            worse = np.array([truth[chosen] < truth[0] - WORTH + 1e-9 for _, chosen, _ in found])
            best = np.mean([truth[chosen] == truth.max() for _, chosen, _ in found])
            trainings = np.mean([count for *_, count in found])
            # worse: by a point or more
            shares = [np.mean(reasons == reason) for reason in ("cheapest", "clearly", "probably")]
            wrong = [np.mean((reasons == reason) & worse) for reason in ("clearly", "probably")]
            print(
                f"{name} | {texts:,} | "
                + " | ".join(f"{100 * share:.1f} %" for share in [*shares, *wrong, best])
                + f" | {trainings:.1f}",
                flush=True,
            )


if __name__ == "__main__":
    main()

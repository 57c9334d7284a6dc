"""Measure false positives and coverage of `src.terms.intervals` on simulated runs: `python -m studies.simulation`.

Every simulated pair of variants has the same expected score, so a significant difference is a false positive. In the
first table, a text is classified correctly if the sum of its difficulty and of the noise of variant, seed and run is
positive. In the second table, two models are trained in a cross-validation: ridge regressions on random features, which
the seed determines, of two halves of the input that are equally informative.
"""

import argparse
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np

from src.terms.intervals import LEVEL, Interval, Sample, estimate

TEXTS = 211


class Noise(NamedTuple):
    """The standard deviations of the sources of noise."""

    name: str
    seeds: int = 5
    text: float = 0.0  # noise of a variant on a text, the same under every seed
    seed: float = 0.0  # noise of a run, the same on all texts
    shared: float = 0.0  # part of the noise of a seed that both variants have with opposite signs
    residual: float = 0.0  # noise of a run on a text


NOISES = (
    Noise("texts", text=0.7),
    Noise("seeds", seed=0.3, residual=0.1),
    Noise("texts, seeds and runs", text=0.5, seed=0.3, residual=0.3),
    Noise("runs", residual=0.7),
    Noise("seeds, one half shared", seed=0.2, shared=0.2, residual=0.1),
    Noise("three seeds", seeds=3, seed=0.3, residual=0.1),
    Noise("two seeds", seeds=2, seed=0.3, residual=0.1),
    Noise("two seeds, texts", seeds=2, text=0.5, seed=0.3, residual=0.3),
)


class CrossValidation(NamedTuple):
    """A cross-validation of two models on N texts."""

    texts: int
    folds: int
    seeds: int


CROSS_VALIDATIONS = (
    CrossValidation(100, 5, 1),
    CrossValidation(100, 10, 5),
    CrossValidation(200, 5, 5),
    CrossValidation(200, 10, 2),
    CrossValidation(400, 10, 1),
)
INPUTS, FEATURES = 6, 24  # features of each half of the input, and random features of a model


def simulate_runs(noise: Noise, rng: np.random.Generator) -> Interval:
    """Return the difference of two variants with the same expected accuracy."""
    difficulty = 1.0 + rng.normal(size=TEXTS)
    shared = noise.shared * rng.normal(size=(noise.seeds, 1))
    samples = []
    for sign in (1, -1):
        of_seed = noise.seed * rng.normal(size=(noise.seeds, 1)) + sign * shared
        of_text = noise.text * rng.normal(size=TEXTS) + noise.residual * rng.normal(size=(noise.seeds, TEXTS))
        correct = (difficulty + of_text + of_seed > 0).astype(np.float64)
        samples.append(Sample(correct, tuple(range(noise.seeds))))
    return estimate([(1, samples[0]), (-1, samples[1])])


def simulate_folds(setup: CrossValidation, rng: np.random.Generator, is_corrected: bool = True) -> Interval:
    """Return the difference of two models with the same expected accuracy in a cross-validation.

    Args:
        is_corrected: whether the variance accounts for the overlap of the training sets.
    """
    labels = rng.integers(0, 2, setup.texts)
    halves = rng.normal(size=(2, setup.texts, INPUTS)) + 0.35 * (2 * labels[:, None] - 1)
    folds = rng.permutation(setup.texts) % setup.folds
    correct = np.zeros((2, setup.seeds, setup.texts))
    for seed in range(setup.seeds):
        for fold in range(setup.folds):
            is_test = folds == fold
            weights = rng.normal(size=(INPUTS, FEATURES))
            for model, half in enumerate(halves):
                features = np.maximum(half @ weights, 0)
                train, targets = features[~is_test], 2.0 * labels[~is_test] - 1
                solution = np.linalg.solve(train.T @ train + np.eye(FEATURES), train.T @ targets)
                correct[model, seed, is_test] = (features[is_test] @ solution > 0) == labels[is_test]
    first, second = (Sample(scores, tuple(range(setup.seeds)), folds if is_corrected else None) for scores in correct)
    return estimate([(1, first), (-1, second)])


def false_positives(simulate: Callable[[np.random.Generator], Interval], times: int) -> str:
    """Return the rate of p-values below LEVEL with its standard error, such as "4.7 ± 0.3 %"."""
    rng = np.random.default_rng(0)
    rate = float(np.mean([(p := simulate(rng).p_value) is not None and p < LEVEL for _ in range(times)]))
    return f"{100 * rate:.1f} ± {100 * np.sqrt(rate * (1 - rate) / times):.1f} %"


def main() -> None:
    parser = argparse.ArgumentParser("python -m studies.simulation", description=__doc__)
    parser.add_argument("--times", type=int, default=4000, help="simulated comparisons per row (default 4000)")
    times = parser.parse_args().times
    print(f"False positives at a nominal 5 %; ± standard error of {times:,} simulations; coverage is the remainder")
    for noise in NOISES:
        rate = false_positives(partial(simulate_runs, noise), times)
        print(f"noise of {noise.name}, {noise.seeds} seeds: {rate}", flush=True)
    for setup in CROSS_VALIDATIONS:
        plain, overlap = (
            false_positives(partial(simulate_folds, setup, is_corrected=is_corrected), times)
            for is_corrected in (False, True)
        )
        print(f"N {setup.texts}, {setup.folds} folds, {setup.seeds} seeds: {overlap}; uncorrected {plain}", flush=True)


if __name__ == "__main__":
    main()

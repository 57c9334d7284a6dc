"""Measure false positives and coverage of `heedful.terms` on simulated runs: `python -m studies.simulation`.

Every simulated pair of variants has the same expected score, so a significant difference is a false positive.

- Seeds: a text is classified correctly if the sum of its difficulty and of the noise of variant, seed and run is
  positive; the runs of the two variants have the same seeds.
- Folds: two models are trained in a cross-validation: ridge regressions on random features, which the seed determines,
  of two halves of the input that are equally informative.
- Groups: the texts of a group share their outcome with a probability of 80 %.
- AUROC: the scores of the texts of both classes are normal.
"""

import argparse
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import NamedTuple, TypeVar

import numpy as np
from scipy.special import ndtr

from heedful.runs.run_files import Predictions
from heedful.tasks.multiclass import Multiclass
from heedful.terms.evaluation import evaluate
from heedful.terms.intervals import LEVEL, Interval, Sample, estimate, estimate_over_texts, sample_score

TEXTS = 211


class Noise(NamedTuple):
    """The standard deviations of the sources of noise."""

    name: str
    text: float = 0.0  # noise of a variant on a text, the same under every seed
    seed: float = 0.0  # noise of a run, the same on all texts
    shared: float = 0.0  # part of the noise of a seed that both variants have with opposite signs
    residual: float = 0.0  # noise of a run on a text


NOISES = (
    Noise("texts", text=0.7),
    Noise("seeds", seed=0.3, residual=0.1),
    Noise("texts, seeds and runs", text=0.5, seed=0.3, residual=0.3),
    Noise("seeds and runs", seed=0.2, residual=0.5),
    Noise("runs", residual=0.7),
    Noise("seeds, one half shared", seed=0.2, shared=0.2, residual=0.1),
)
SEEDS = (2, 3, 5)


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
SHARED, ACCURACY = 0.8, 0.8  # probability that a text has the outcome of its group; expected accuracy
GROUPS = {  # sizes of the groups
    "100 groups of 10 texts": np.full(100, 10),
    "20 groups of 10 texts": np.full(20, 10),
    "100 groups of 1 to 40 texts": 1 + np.arange(100) * 39 // 99,
    "9 groups of 5 texts and 1 of 200": np.array([5] * 9 + [200]),
}
POSITIVES, SHIFT = ((10, 190), (10, 10), (20, 180)), 1.0  # texts of the two classes; difference of their mean scores


def simulate_runs(noise: Noise, seeds: int, of_second: int, rng: np.random.Generator) -> Interval:
    """Return the difference of two variants with the same expected accuracy.

    Args:
        of_second: the number of seeds that the second variant has, of those of the first.
    """
    difficulty = 1.0 + rng.normal(size=TEXTS)
    shared = noise.shared * rng.normal(size=(seeds, 1))
    samples = []
    for sign in (1, -1):
        of_seed = noise.seed * rng.normal(size=(seeds, 1)) + sign * shared
        of_text = noise.text * rng.normal(size=TEXTS) + noise.residual * rng.normal(size=(seeds, TEXTS))
        correct = (difficulty + of_text + of_seed > 0).astype(np.float64)
        samples.append(Sample(correct, tuple(range(seeds))))
    second = Sample(samples[1].scores[:of_second], tuple(range(of_second)))
    return estimate([(1, samples[0]), (-1, second)])


def simulate_folds(setup: CrossValidation, rng: np.random.Generator) -> dict[str, Interval]:
    """Return the difference of two models with the same expected accuracy in a cross-validation, by the way to
    estimate its variance."""
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
    first, second = (Sample(scores, tuple(range(setup.seeds)), folds) for scores in correct)
    pair = [(1.0, first), (-1.0, second)]
    uncorrected = estimate([(weight, replace(sample, folds=None)) for weight, sample in pair])
    return {"over folds": estimate(pair), "over texts": estimate_over_texts(pair), "uncorrected": uncorrected}


def simulate_groups(sizes: np.ndarray, are_known: bool, rng: np.random.Generator) -> tuple[Interval, Interval]:
    """Return the accuracy of a model and its difference from another on groups of texts of these sizes.

    Args:
        are_known: whether the intervals account for the groups.
    """
    numbers = np.repeat(np.arange(len(sizes)), sizes)
    groups, hits = numbers if are_known else None, []
    for _ in range(2):
        of_group, own = rng.random(len(sizes)) < ACCURACY, rng.random(len(numbers)) < ACCURACY
        hits.append(np.where(rng.random(len(numbers)) < SHARED, of_group[numbers], own))
    labels = np.zeros(len(numbers), dtype=np.int64)
    score = evaluate(_predictions(np.eye(2)[np.where(hits[0], 0, 1)], labels, groups))["acc"]
    first, second = (Sample(each[None].astype(np.float64), groups=groups) for each in hits)
    return Interval(score.value or 0.0, score.low, score.high), estimate([(1, first), (-1, second)])


def _predictions(probabilities: np.ndarray, labels: np.ndarray, groups: np.ndarray | None = None) -> Predictions:
    return Predictions("test", probabilities, labels, Multiclass(("0", "1")), np.arange(len(labels)), groups)


def simulate_areas(positives: int, others: int, rng: np.random.Generator) -> tuple[Interval, Interval]:
    """Return the area under the ROC curve of a model, and its difference from that of an equally good model."""
    labels = np.repeat([1, 0], [positives, others])
    scores = SHIFT * labels + 0.7 * rng.normal(size=len(labels)) + 0.51**0.5 * rng.normal(size=(2, len(labels)))
    models = [_predictions(np.stack([1 - p, p], axis=1), labels) for p in 1 / (1 + np.exp(-scores))]
    score = evaluate(models[0])["auroc"]
    first, second = (sample_score("auroc", [each]) for each in models)
    assert first is not None and second is not None
    return Interval(score.value or 0.0, score.low, score.high), estimate([(1, first), (-1, second)])


def false_positives(results: Sequence[Interval]) -> str:
    """Return the rate of p-values below LEVEL, and the share of the results without a p-value, if there are such."""
    p_values = [result.p_value for result in results]
    missing = 100 * sum(p is None for p in p_values) / len(p_values)
    rate = _rate([p is not None and p < LEVEL for p in p_values])
    return rate + (f" and {missing:.0f} % without p" if missing else "")


def coverage(results: Sequence[Interval], value: float) -> str:
    """Return the rate of intervals that contain a value; a result without bounds is exact."""
    return _rate([(r.value if r.low is None else r.low) <= value <= (r.high or r.value) for r in results])


def _rate(events: Sequence[bool]) -> str:
    """Return the rate with its standard error, such as "4.7 ± 0.3 %"."""
    rate = float(np.mean(events))
    return f"{100 * rate:.1f} ± {100 * np.sqrt(rate * (1 - rate) / len(events)):.1f} %"


Result = TypeVar("Result")


def repeat(simulate: Callable[[np.random.Generator], Result], times: int) -> list[Result]:
    rng = np.random.default_rng(0)
    return [simulate(rng) for _ in range(times)]


def main() -> None:
    parser = argparse.ArgumentParser("python -m studies.simulation", description=__doc__)
    parser.add_argument("--times", type=int, default=4000, help="simulated comparisons per row (default 4000)")
    times = parser.parse_args().times
    print(f"False positives at a nominal 5 %; ± standard error of {times:,} simulations")
    for noise in NOISES:
        rates = [
            f"{false_positives(repeat(partial(simulate_runs, noise, seeds, seeds), times))} ({seeds} seeds)"
            for seeds in SEEDS
        ]
        alone = coverage(repeat(partial(simulate_runs, noise, SEEDS[-1], 1), times), 0.0)
        print(
            f"noise of {noise.name}: {', '.join(rates)}; coverage of {SEEDS[-1]} seeds against one {alone}", flush=True
        )
    for setup in CROSS_VALIDATIONS:
        results = repeat(partial(simulate_folds, setup), times)
        rates = [f"{way} {false_positives([result[way] for result in results])}" for way in results[0]]
        print(f"N {setup.texts}, {setup.folds} folds, {setup.seeds} seeds: {'; '.join(rates)}", flush=True)
    for name, sizes in GROUPS.items():
        for are_known in (True, False):
            scores, differences = zip(*repeat(partial(simulate_groups, sizes, are_known), times), strict=True)
            print(
                f"{name}, {'known' if are_known else 'ignored'}: {false_positives(differences)}; coverage of the "
                f"difference {coverage(differences, 0.0)}, of the accuracy {coverage(scores, ACCURACY)}",
                flush=True,
            )
    for positives, others in POSITIVES:
        scores, differences = zip(*repeat(partial(simulate_areas, positives, others), times), strict=True)
        print(
            f"AUROC, {positives} of {positives + others} texts: {false_positives(differences)}; coverage of the "
            f"difference {coverage(differences, 0.0)}, of the area {coverage(scores, float(ndtr(SHIFT / 2**0.5)))}",
            flush=True,
        )


if __name__ == "__main__":
    main()

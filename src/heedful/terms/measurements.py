"""Measurements of the variants: scores by seed and text, and statistics from the files of the runs."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from heedful.base.errors import UserError
from heedful.records.runs import FinishedRun
from heedful.records.statistics import RUN_STATISTICS
from heedful.records.variants import Variant, pool_folds
from heedful.runs.run_files import Predictions, read_or_warn, read_predictions
from heedful.tasks.stored import find_score
from heedful.terms.intervals import Sample, sample_score


@dataclass(frozen=True)
class Measurement:
    """The scores of a variant with S seeds on n test texts; the folds of a seed are scored together."""

    variant: Variant
    samples: dict[str, Sample]  # score → its terms, or statistic of the runs → its values; those that are defined
    ensemble: float | None = None  # compared score of the mean probabilities over several seeds; None if undefined
    linear: Sample | None = None  # compared score of the linear models of the same runs; None if a run has none
    hits: np.ndarray | None = None  # S×n, whether the predictions are right; None if they are numbers
    class_counts: np.ndarray | None = None  # 3×C, the `class_counts` of the predictions, summed over seeds


def measure(variants: Sequence[Variant], metrics: Sequence[str]) -> list[Measurement]:
    """Measure the variants by scores, by seed and by text, and by statistics of the runs; the first is compared."""
    metric = metrics[0]
    first_runs = next(iter(variants[0].runs_by_seed.values()))
    first, folds = pool_folds([run.predictions() for run in first_runs])
    measurements = []
    for variant in variants:
        predictions = []  # of each seed
        for runs in variant.runs_by_seed.values():
            of_seed, _ = pool_folds([run.predictions() for run in runs])
            if not (np.array_equal(of_seed.index, first.index) and np.array_equal(of_seed.labels, first.labels)):
                raise UserError(
                    f"{runs[0].folder} ({len(of_seed.labels):,} texts) and {first_runs[0].folder} "
                    f"({len(first.labels):,} texts) were tested on different texts: compare runs with the same texts"
                )
            predictions.append(of_seed._replace(groups=first.groups))
        found = {
            name: sample_score(name, predictions, variant.seeds, folds)
            if name in first.task.scores
            else _statistic(name, variant)
            for name in dict.fromkeys(metrics)
        }
        samples = {name: sample for name, sample in found.items() if sample is not None}
        if metric not in samples and not predictions[0].has_probabilities:
            raise UserError(f"--metric {metric}: {variant.name} has labels alone, without probabilities")
        if metric not in samples:
            raise UserError(f"--metric {metric} is not defined on these test texts; perhaps a class has no text")
        ensemble = linear = None
        if metric in first.task.scores:
            mean = np.mean([of_seed.probabilities for of_seed in predictions], axis=0)
            task = first.task.joint([of_seed.task for of_seed in predictions])
            of_mean = first._replace(probabilities=mean, task=task).terms(metric)
            ensemble = None if of_mean is None or len(predictions) == 1 else float(of_mean.mean())
            linear = sample_score(metric, linear_predictions(variant, first.index), variant.seeds, folds)
        hits = np.stack([of_seed.is_correct for of_seed in predictions]) if first.task.has_classes else None
        counts = np.sum([of_seed.class_counts() for of_seed in predictions], axis=0)
        measurements.append(Measurement(variant, samples, ensemble, linear, hits, counts))
    return measurements


def _statistic(name: str, variant: Variant) -> Sample | None:
    """Return a statistic, or a metric that the runs added; None if a run does not know it."""
    if name in RUN_STATISTICS:
        return sample_statistic(RUN_STATISTICS[name].compute, variant, RUN_STATISTICS[name].ends)
    return sample_statistic(lambda run: run.result.score(f"test/{name}"), variant)


def sample_statistic(
    compute: Callable[[FinishedRun], float | None], variant: Variant, ends: tuple[float, float] = (-math.inf, math.inf)
) -> Sample | None:
    """Return the mean over folds of a number of each run, between its ends; None if a run has none."""
    by_seed = [[compute(run) for run in runs] for runs in variant.runs_by_seed.values()]
    if any(None in values for values in by_seed):
        return None
    return Sample(np.array(by_seed, dtype=np.float64).mean(1, keepdims=True), variant.seeds, ends=ends)


def linear_predictions(variant: Variant, index: np.ndarray) -> list[Predictions]:
    """Return the predictions of the linear models by seed; empty if a run lacks one for these texts."""
    by_seed = []
    for runs in variant.runs_by_seed.values():
        parts = [
            part for run in runs if (part := read_or_warn(partial(read_predictions, folder="baseline"), run.folder))
        ]
        if len(parts) < len(runs) or not np.array_equal((of_seed := pool_folds(parts)[0]).index, index):
            return []
        by_seed.append(of_seed)
    return by_seed


def label(metric: str) -> str:
    """Return the name of a score or statistic for use within a sentence."""
    return getattr(find_score(metric) or RUN_STATISTICS.get(metric), "label", metric)


def untested(metric: str, rare_classes: str = "") -> str:
    """Return why differences in a score cannot be tested at all, or on texts with rare classes; "" if they can."""
    score = find_score(metric)
    if score and (reason := score.interval.untested):
        return f"differences in {label(metric)} have no interval, {reason}"
    if rare_classes and score and score.is_by_class:
        return f"differences in {label(metric)} have no interval, because classes are rare: {rare_classes}"
    return ""

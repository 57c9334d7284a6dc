"""Measurements of the variants: scores by seed and text, and statistics from the files of the runs."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from statistics import median
from typing import Any, NamedTuple

import numpy as np

from src.errors import UserError
from src.records.faithfulness import ATTENTION, RECORD_FILE, Record
from src.records.files import read_gradients, read_or_warn, read_predictions, read_statistics
from src.records.runs import FinishedRun
from src.records.variants import Variant, pool_folds
from src.run_result import RESULT_FILE
from src.terms.intervals import Sample
from src.terms.scores import SCORES, ScoreType

MIN_NORMS = 10  # minimum number of gradient norms that `gradient_variation` requires


@dataclass(frozen=True)
class Measurement:
    """The scores of a variant with S seeds on n test texts; the folds of a seed are scored together."""

    variant: Variant
    samples: dict[str, Sample]  # defined score → its terms
    ensemble: float | None = None  # compared score of the mean probabilities over several seeds; None if undefined
    linear: Sample | None = None  # compared score of the linear baselines of the same runs; None if a run has none

    def sample(self, metric: str) -> Sample | None:
        """Return a score, or the mean over folds of a statistic of the runs; None if it is not known for all runs."""
        if metric not in RUN_STATISTICS:
            return self.samples.get(metric)
        compute = RUN_STATISTICS[metric].compute
        by_seed = [[compute(run) for run in runs] for runs in self.variant.runs_by_seed.values()]
        if any(None in values for values in by_seed):
            return None
        return Sample(np.array(by_seed, dtype=np.float64).mean(1, keepdims=True), self.variant.seeds)


def measure(variants: Sequence[Variant], scores: Mapping[str, ScoreType]) -> list[Measurement]:
    """Compute scores of the variants' predictions, by seed and by text; the first of `scores` is the compared one."""
    metric = next(iter(scores))
    first_runs = next(iter(variants[0].runs_by_seed.values()))
    first, folds = pool_folds([run.predictions() for run in first_runs])
    measurements = []
    for variant in variants:
        probabilities = []  # of each seed, n×C
        for runs in variant.runs_by_seed.values():
            of_seed, _ = pool_folds([run.predictions() for run in runs])
            if not (np.array_equal(of_seed.index, first.index) and np.array_equal(of_seed.labels, first.labels)):
                raise UserError(
                    f"{runs[0].folder} ({len(of_seed.labels):,} texts) and {first_runs[0].folder} "
                    f"({len(first.labels):,} texts) were tested on different texts: compare runs with the same texts"
                )
            probabilities.append(of_seed.probabilities)
        common = (first.labels, variant.seeds, folds)
        samples = {name: sample for name, score in scores.items() if (sample := _sample(score, probabilities, *common))}
        if metric not in samples:
            raise UserError(f"--metric {metric} is not defined on these test texts; perhaps a class has no text")
        of_mean = _sample(scores[metric], [np.mean(probabilities, axis=0)], *common)
        ensemble = None if of_mean is None or len(probabilities) == 1 else float(of_mean.scores.mean())
        linear = _sample(scores[metric], _linear_probabilities(variant, first.index), *common)
        if linear and linear.scores.shape != samples[metric].scores.shape:
            linear = None
        measurements.append(Measurement(variant, samples, ensemble, linear))
    return measurements


def _sample(
    score: ScoreType,
    probabilities: Sequence[np.ndarray],
    labels: np.ndarray,
    seeds: tuple[int, ...],
    folds: np.ndarray | None,
) -> Sample | None:
    """Return the terms of a score for the probabilities of each seed; None if the score is undefined for a seed."""
    terms = [of_seed for each in probabilities if (of_seed := score.terms(each, labels)) is not None]
    if not terms or len(terms) < len(probabilities) or len(set(map(len, terms))) > 1:
        return None
    # an added metric has one value for each group of texts, so the folds do not apply
    return Sample(np.stack(terms), seeds, folds if len(terms[0]) == len(labels) else None)


def _linear_probabilities(variant: Variant, index: np.ndarray) -> list[np.ndarray]:
    """Return the probabilities of the linear baselines by seed, n×C; empty if a run lacks one for these texts."""
    by_seed = []
    for runs in variant.runs_by_seed.values():
        parts = [
            part for run in runs if (part := read_or_warn(partial(read_predictions, folder="baseline"), run.folder))
        ]
        if len(parts) < len(runs) or not np.array_equal((of_seed := pool_folds(parts)[0]).index, index):
            return []
        by_seed.append(of_seed.probabilities)
    return by_seed


def require_same_data(runs: Sequence[FinishedRun]) -> None:
    """Check that all runs have the same data."""
    first: dict[tuple[Any, ...], FinishedRun] = {}  # the first run with each data
    for run in runs:
        first.setdefault((run.result.data.fingerprint, run.result.data.class_names), run)
    if len(first) > 1:
        lines = [f"  {run.folder}: {run.result.data.test} test texts" for run in first.values()]
        raise UserError("\n".join(["the runs differ in their data: compare runs with the same data", *lines]))


def attended_share(run: FinishedRun) -> float | None:
    """Return the effective share of words, exp(entropy) / length, 0 to 1, averaged over texts of several words."""
    statistics = read_or_warn(read_statistics, run.folder)
    if statistics is None:
        return None
    several = statistics.length > 1  # a single word has weight 1 in every attention mechanism
    return float((statistics.effective / statistics.length)[several].mean()) if several.any() else None


def gradient_variation(run: FinishedRun) -> float | None:
    """Return the root mean square of ln(b / a) over all pairs of successive norms a and b of the encoder's gradient.

    The result is None if there are fewer than 10 norms, or if a norm is zero or not finite.
    """
    norms = (read_or_warn(read_gradients, run.folder) or {}).get("encoder")
    if norms is None or len(norms) < MIN_NORMS or not (np.isfinite(norms).all() and (norms[:, 1] > 0).all()):
        return None
    return float(np.sqrt(np.mean(np.diff(np.log(norms[:, 1])) ** 2)))


def _mean_of_record(run: FinishedRun, values_of: Callable[[Record], np.ndarray | None]) -> float | None:
    """Return the mean of the values of a run's record of faithfulness, over the texts for which they are defined."""
    record = read_or_warn(Record.load, run.folder)
    values = None if record is None else values_of(record)
    return None if values is None or np.isnan(values).all() else float(np.nanmean(values))


def attention_faithfulness(run: FinishedRun) -> float | None:
    return _mean_of_record(run, lambda record: record.values("normalized_comprehensiveness", ATTENTION))


def gradient_agreement(run: FinishedRun) -> float | None:
    return _mean_of_record(run, lambda record: record.arrays.get("tau_gradient"))


class RunStatistic(NamedTuple):
    """A statistic of a run, the file from which it is computed, and its name in sentences."""

    compute: Callable[[FinishedRun], float | None]  # None if data are missing
    file: str
    label: str


def seconds_per_epoch(run: FinishedRun) -> float | None:
    """Return the median over epochs, because the first includes warm-up."""
    seconds = run.result.seconds.per_epoch
    return median(seconds) if seconds else None


FAITHFULNESS = ("attention_faithfulness", "gradient_agreement")
SECONDS = "seconds_per_epoch"
RUN_STATISTICS = {
    name: RunStatistic(compute, file, sentence_name)
    for name, compute, file, sentence_name in (
        ("attention_faithfulness", attention_faithfulness, RECORD_FILE, "normalized comprehensiveness of attention"),
        ("gradient_agreement", gradient_agreement, RECORD_FILE, "τ of attention and gradient"),
        ("attended_share", attended_share, "attention_stats.npz", "the attended share of the words"),
        ("gradient_variation", gradient_variation, "gradients.csv", "gradient variation, the RMS of ln(b / a)"),
        (SECONDS, seconds_per_epoch, RESULT_FILE, "seconds per epoch"),
    )
}


def label(metric: str) -> str:
    """Return the name of a score or statistic for use within a sentence."""
    known = SCORES.get(metric) or RUN_STATISTICS.get(metric)
    return known.label if known else metric


def missing(metric: str) -> str:
    """Return the reason why no variant has a score or statistic."""
    if metric in RUN_STATISTICS:
        return f"too few runs have enough data in {RUN_STATISTICS[metric].file}"
    return f"{metric} is not defined on these test texts"

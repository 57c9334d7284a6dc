"""Measurements of the variants: scores by seed and text, and statistics from the files of the runs."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from src.errors import UserError
from src.records.faithfulness import ATTENTION, RECORD_FILE, Record
from src.records.files import Predictions, read_gradients, read_or_warn, read_predictions, read_statistics
from src.records.runs import FinishedRun
from src.records.variants import Variant, pool_folds
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


def measure(
    variants: Sequence[Variant], metric: str, others: Sequence[str] = (), added: ScoreType | None = None
) -> list[Measurement]:
    """Compute scores of the variants' predictions, by seed and by text.

    Args:
        metric: the compared score.
        others: further scores to compute.
        added: how to compute the compared score, if it is not one of SCORES.
    """
    scores = {name: SCORES[name] for name in others} | {metric: added or SCORES[metric]}
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
        samples = {}
        for name, score in scores.items():
            by_seed = [terms for p in probabilities if (terms := score.terms(p, first.labels)) is not None]
            if len(by_seed) == len(probabilities) and len({len(terms) for terms in by_seed}) == 1:
                # an added metric has one value for each group of texts, so the folds do not apply
                by_fold = folds if by_seed[0].shape == first.labels.shape else None
                samples[name] = Sample(np.stack(by_seed), variant.seeds, by_fold)
        if metric not in samples:
            raise UserError(f"--metric {metric} is not defined on these test texts; perhaps a class has no text")
        of_mean = scores[metric].terms(np.mean(probabilities, axis=0), first.labels)
        ensemble = None if of_mean is None or len(probabilities) == 1 else float(of_mean.mean())
        linear = _linear_sample(variant, first, scores[metric], samples[metric])
        measurements.append(Measurement(variant, samples, ensemble, linear))
    return measurements


def _linear_sample(variant: Variant, first: Predictions, score: ScoreType, sample: Sample) -> Sample | None:
    """Return the terms of the linear baselines in the runs of a variant, as `sample` has those of the models."""
    by_seed = []
    for runs in variant.runs_by_seed.values():
        parts = [read_or_warn(lambda folder: read_predictions(folder, "baseline"), run.folder) for run in runs]
        present = [part for part in parts if part is not None]
        if len(present) < len(parts) or not np.array_equal((of_seed := pool_folds(present)[0]).index, first.index):
            return None
        by_seed.append(score.terms(of_seed.probabilities, first.labels))
    terms = [of_seed for of_seed in by_seed if of_seed is not None and of_seed.shape == sample.scores.shape[1:]]
    return Sample(np.stack(terms), sample.seeds, sample.folds) if len(terms) == len(by_seed) else None


def require_same_data(runs: Sequence[FinishedRun]) -> None:
    """Check that all runs have the same data."""
    first: dict[tuple[Any, ...], FinishedRun] = {}  # the first run with each data
    for run in runs:
        first.setdefault((run.result.data.fingerprint, run.result.data.class_names), run)
    if len(first) > 1:
        lines = [f"  {run.folder}: {run.result.data.test} test texts" for run in first.values()]
        raise UserError("\n".join(["the runs differ in their data: compare runs with the same data", *lines]))


class RunStatistic(NamedTuple):
    """A statistic of a run, the file from which it is computed, and its name in sentences."""

    file: str
    compute: Callable[[Path], float | None]  # folder of the run → statistic; None if data are missing
    label: str


def attended_share(run: Path) -> float | None:
    """Return the effective share of words, exp(entropy) / length, 0 to 1, averaged over texts of several words."""
    statistics = read_or_warn(read_statistics, run)
    if statistics is None:
        return None
    several = statistics.length > 1  # a single word has weight 1 in every attention mechanism
    return float((statistics.effective / statistics.length)[several].mean()) if several.any() else None


def gradient_variation(run: Path) -> float | None:
    """Return the root mean square of ln(b / a) over all pairs of successive norms a and b of the encoder's gradient.

    The result is None if there are fewer than 10 norms, or if a norm is zero or not finite.
    """
    norms = (read_or_warn(read_gradients, run) or {}).get("encoder")
    if norms is None or len(norms) < MIN_NORMS or not (np.isfinite(norms).all() and (norms[:, 1] > 0).all()):
        return None
    return float(np.sqrt(np.mean(np.diff(np.log(norms[:, 1])) ** 2)))


def _mean_of_record(run: Path, values_of: Callable[[Record], np.ndarray | None]) -> float | None:
    """Return the mean of the values of a run's record of faithfulness, over the texts for which they are defined."""
    record = read_or_warn(Record.load, run)
    values = None if record is None else values_of(record)
    return None if values is None or np.isnan(values).all() else float(np.nanmean(values))


def attention_faithfulness(run: Path) -> float | None:
    return _mean_of_record(run, lambda record: record.values("normalized_comprehensiveness", ATTENTION))


def gradient_agreement(run: Path) -> float | None:
    return _mean_of_record(run, lambda record: record.arrays.get("tau_gradient"))


FAITHFULNESS = ("attention_faithfulness", "gradient_agreement")
RUN_STATISTICS = {
    name: RunStatistic(file, compute, sentence_name)
    for name, file, compute, sentence_name in (
        ("attention_faithfulness", RECORD_FILE, attention_faithfulness, "normalized comprehensiveness of attention"),
        ("gradient_agreement", RECORD_FILE, gradient_agreement, "τ of attention and gradient"),
        ("attended_share", "attention_stats.npz", attended_share, "the attended share of the words"),
        ("gradient_variation", "gradients.csv", gradient_variation, "gradient variation, the RMS of ln(b / a)"),
    )
}


def sample_runs(variants: Iterable[Variant], statistic: str) -> dict[str, Sample]:
    """Return samples of a statistic by variant name; variants with a run that lacks the statistic are omitted."""
    samples = {}
    for variant in variants:
        compute = RUN_STATISTICS[statistic].compute
        by_seed = [[compute(run.folder) for run in runs] for runs in variant.runs_by_seed.values()]
        if not any(None in values for values in by_seed):
            means = np.array(by_seed, dtype=np.float64).mean(1, keepdims=True)
            samples[variant.name] = Sample(means, variant.seeds)
    return samples


def label(metric: str) -> str:
    """Return the name of a score or statistic for use within a sentence."""
    known = SCORES.get(metric) or RUN_STATISTICS.get(metric)
    return known.label if known else metric

"""Measurements of the variants: scores by seed and text, and statistics from the files of the runs."""

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

from src.comparison.folds import pool_folds
from src.comparison.runs import FinishedRun
from src.comparison.scores import ScoreByText, scores_by_text
from src.comparison.two_level_bootstrap import Sample, draw_samples
from src.comparison.variants import Variant
from src.errors import UserError
from src.faithfulness.names import ATTENTION
from src.faithfulness.records import RECORD_FILE, Record
from src.reports.files import read_gradients, read_or_warn, read_statistics

MAX_FOLDERS = 3  # maximum number of folders of each group of runs in a message
MIN_MEASUREMENTS = 10  # minimum number of gradient norms that `gradient_variation` requires


@dataclass(frozen=True)
class Measurement:
    """The scores of a variant with S seeds on n test texts; the folds of a seed are scored together."""

    variant: Variant
    by_text: dict[str, np.ndarray]  # defined score → S×n numbers, whose mean over texts is the score of each seed
    ensemble: float | None  # compared score of the mean probabilities over seeds; None for one seed or if undefined
    digests: dict[int, str]  # seed → digest of the predicted probabilities


def measure(
    variants: Sequence[Variant],
    metric: str,
    others: Sequence[str] = (),
    added: Mapping[str, ScoreByText] | None = None,
) -> list[Measurement]:
    """Compute scores of the variants' predictions, by seed and by text.

    Args:
        metric: the compared score.
        others: further scores to compute.
        added: functions that compute further scores, which `src.comparison.scores.SCORES` lacks, by name of the score.

    Raises:
        UserError: if runs were tested on different texts, or the metric is not defined on these texts.
    """
    names = list(dict.fromkeys((*others, metric)))
    first_runs = next(iter(variants[0].runs_by_seed.values()))
    first = pool_folds(first_runs)
    measurements = []
    for variant in variants:
        by_text: dict[str, list[np.ndarray]] = {}
        mean_probabilities, digests = np.zeros(first.probabilities.shape), {}
        by_seed = variant.runs_by_seed
        for seed, runs in by_seed.items():
            predictions = pool_folds(runs)
            same_index = np.array_equal(predictions.index, first.index)
            if not (same_index and np.array_equal(predictions.labels, first.labels)):
                raise UserError(
                    f"{runs[0].folder} ({len(predictions.labels):,} texts) and {first_runs[0].folder} "
                    f"({len(first.labels):,} texts) were tested on different texts: compare runs with the same texts"
                )
            by_name = scores_by_text(predictions.probabilities, predictions.labels, names, added)
            if metric not in by_name:
                raise UserError(f"--metric {metric} is not defined on these test texts; perhaps a class has no text")
            for name, values in by_name.items():
                by_text.setdefault(name, []).append(values)
            digests[seed] = hashlib.sha256(predictions.probabilities.tobytes()).hexdigest()
            mean_probabilities += predictions.probabilities / len(by_seed)
        of_ensemble = scores_by_text(mean_probabilities, first.labels, [metric], added).get(metric)
        ensemble = None if of_ensemble is None or len(by_seed) == 1 else float(of_ensemble.mean())
        stacked = {name: np.stack(values) for name, values in by_text.items()}
        measurements.append(Measurement(variant, stacked, ensemble, digests))
    return measurements


def sample_scores(measurements: Sequence[Measurement], name: str) -> dict[str, Sample]:
    """Return samples of a score by variant name; all variants share the resampled texts."""
    values = [measurement.by_text[name] for measurement in measurements]
    samples = draw_samples(values, seeds=[measurement.variant.seeds for measurement in measurements])
    return {measurement.variant.name: sample for measurement, sample in zip(measurements, samples, strict=True)}


def require_same_data(runs: Sequence[FinishedRun]) -> None:
    """Check that all runs have the same data.

    Raises:
        UserError: if the data differ; the message lists the groups of runs with the same data.
    """
    groups: dict[tuple[str, tuple[str, ...]], list[FinishedRun]] = {}
    for run in runs:
        data = run.result.data
        groups.setdefault((str(data.fingerprint), data.class_names), []).append(run)
    if len(groups) < 2:
        return
    lines = []
    for group in groups.values():
        data, more = group[0].result.data, len(group) - MAX_FOLDERS
        names = ", ".join(str(run.folder) for run in group[:MAX_FOLDERS]) + (f" and {more} more" if more > 0 else "")
        source = group[0].choices.get("data", "data")
        lines.append(f"  {source}, {data.train} training and {data.test} test texts: {names}")
    raise UserError(
        "the runs differ in their data (in the source, its splits, or data.limit), so their scores cannot be "
        "compared; name the folders of one of these groups:\n" + "\n".join(lines)
    )


class RunStatistic(NamedTuple):
    """A statistic of a run, and the file from which it is computed."""

    file: str
    compute: Callable[[Path], float | None]  # folder of the run → statistic; None if data are missing


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
    if norms is None or len(norms) < MIN_MEASUREMENTS or not (np.isfinite(norms).all() and (norms[:, 1] > 0).all()):
        return None
    return float(np.sqrt(np.mean(np.diff(np.log(norms[:, 1])) ** 2)))


def attention_faithfulness(run: Path) -> float | None:
    """Return the normalized comprehensiveness of attention, 0 to 1, averaged over the texts for which it is defined."""
    record = read_or_warn(Record.load, run)
    return _mean_of_defined(None if record is None else record.values("normalized_comprehensiveness", ATTENTION))


def gradient_agreement(run: Path) -> float | None:
    """Return Kendall's τ between attention and |gradient × input|, -1 to 1, averaged over texts where it is defined."""
    record = read_or_warn(Record.load, run)
    return _mean_of_defined(None if record is None else record.arrays.get("tau_gradient"))


def _mean_of_defined(values: np.ndarray | None) -> float | None:
    return None if values is None or np.isnan(values).all() else float(np.nanmean(values))


FAITHFULNESS = ("attention_faithfulness", "gradient_agreement")
RUN_STATISTICS = {
    "attention_faithfulness": RunStatistic(RECORD_FILE, attention_faithfulness),
    "gradient_agreement": RunStatistic(RECORD_FILE, gradient_agreement),
    "attended_share": RunStatistic("attention_stats.npz", attended_share),
    "gradient_variation": RunStatistic("gradients.csv", gradient_variation),
}


def sample_runs(variants: Iterable[Variant], statistic: str) -> dict[str, Sample]:
    """Return samples of a statistic by variant name; variants with a run that lacks the statistic are omitted."""
    samples = {}
    for variant in variants:
        compute = RUN_STATISTICS[statistic].compute
        by_seed = [[compute(run.folder) for run in runs] for runs in variant.runs_by_seed.values()]
        if not any(None in values for values in by_seed):
            samples[variant.name] = Sample(np.array(by_seed, dtype=np.float64).mean(1), seeds=variant.seeds)
    return samples

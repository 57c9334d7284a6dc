"""Measurements of the variants: scores by seed and text, and statistics from the files of the runs."""

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

from src.errors import UserError
from src.records.faithfulness import RECORD_FILE, Record
from src.records.faithfulness_names import ATTENTION
from src.records.files import Predictions, read_gradients, read_or_warn, read_statistics
from src.records.folds import pool_folds
from src.records.runs import FinishedRun
from src.records.variants import Variant
from src.terms.intervals import Sample
from src.terms.scores import SCORES, Terms

MAX_FOLDERS = 3  # maximum number of folders of each group of runs in a message
MIN_MEASUREMENTS = 10  # minimum number of gradient norms that `gradient_variation` requires


@dataclass(frozen=True)
class Measurement:
    """The scores of a variant with S seeds on n test texts; the folds of a seed are scored together."""

    variant: Variant
    samples: dict[str, Sample]  # defined score → its terms
    correct: np.ndarray  # S×n bool, whether each prediction is correct
    ensemble: float | None  # compared score of the mean probabilities over seeds; None for one seed or if undefined
    digests: dict[int, str]  # seed → digest of the predicted probabilities


def measure(
    variants: Sequence[Variant], metric: str, others: Sequence[str] = (), added: Mapping[str, Terms] | None = None
) -> list[Measurement]:
    """Compute scores of the variants' predictions, by seed and by text.

    Args:
        metric: the compared score.
        others: further scores to compute.
        added: functions that compute the terms of scores that `src.terms.scores.SCORES` lacks, by name of the score.

    Raises:
        UserError: if runs were tested on different texts, or the metric is not defined on these texts.
    """
    functions = {**SCORES, **(added or {})}
    names = list(dict.fromkeys((*others, metric)))
    first_runs = next(iter(variants[0].runs_by_seed.values()))
    first, folds = pool_folds(first_runs)

    def scores(probabilities: np.ndarray) -> dict[str, np.ndarray]:
        p = probabilities.astype(np.float64).clip(0, 1)
        by_name = {name: functions[name](p, first.labels) for name in names}
        return {name: by_text for name, by_text in by_name.items() if by_text is not None}

    measurements = []
    for variant in variants:
        predictions = [pool_folds(runs)[0] for runs in variant.runs_by_seed.values()]
        for runs, of_seed in zip(variant.runs_by_seed.values(), predictions, strict=True):
            _require_same_texts(of_seed, first, runs[0], first_runs[0])
        by_seed = [scores(of_seed.probabilities) for of_seed in predictions]
        if any(metric not in of_seed for of_seed in by_seed):
            raise UserError(f"--metric {metric} is not defined on these test texts; perhaps a class has no text")
        of_ensemble = scores(np.mean([of_seed.probabilities for of_seed in predictions], axis=0)).get(metric)
        measurements.append(
            Measurement(
                variant,
                {
                    # an added metric has one value for each group of texts, so the folds do not apply
                    name: Sample(stacked, variant.seeds, folds if stacked.shape[1] == len(first.labels) else None)
                    for name in by_seed[0]
                    for stacked in [np.stack([of_seed[name] for of_seed in by_seed])]
                },
                np.stack([of_seed.probabilities.argmax(1) == first.labels for of_seed in predictions]),
                None if of_ensemble is None or len(by_seed) == 1 else float(of_ensemble.mean()),
                {
                    seed: hashlib.sha256(of_seed.probabilities.tobytes()).hexdigest()
                    for seed, of_seed in zip(variant.seeds, predictions, strict=True)
                },
            )
        )
    return measurements


def _require_same_texts(predictions: Predictions, first: Predictions, run: FinishedRun, first_run: FinishedRun) -> None:
    same_index = np.array_equal(predictions.index, first.index)
    if not (same_index and np.array_equal(predictions.labels, first.labels)):
        raise UserError(
            f"{run.folder} ({len(predictions.labels):,} texts) and {first_run.folder} "
            f"({len(first.labels):,} texts) were tested on different texts: compare runs with the same texts"
        )


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
            means = np.array(by_seed, dtype=np.float64).mean(1, keepdims=True)
            samples[variant.name] = Sample(means, variant.seeds)
    return samples

"""Statistics of a run, one number each, from the files of the run."""

from collections.abc import Callable
from statistics import median
from typing import NamedTuple

import numpy as np

from heedful.records.runs import FinishedRun
from heedful.runs.faithfulness_record import ATTENTION, RECORD_FILE, FaithfulnessRecord
from heedful.runs.result import RESULT_FILE
from heedful.runs.run_files import GRADIENTS_FILE, STATISTICS_FILE, read_gradients, read_or_warn, read_statistics

MIN_NORMS = 10  # minimum number of gradient norms that `gradient_variation` requires


class RunStatistic(NamedTuple):
    """A statistic of a run, the file from which it is computed, and its name in sentences."""

    compute: Callable[[FinishedRun], float | None]  # None if data are missing
    file: str
    label: str


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


def attention_faithfulness(run: FinishedRun) -> float | None:
    record = read_or_warn(FaithfulnessRecord.load, run.folder)
    return None if record is None else _mean_of_defined(record.values("normalized_comprehensiveness", ATTENTION))


def gradient_agreement(run: FinishedRun) -> float | None:
    record = read_or_warn(FaithfulnessRecord.load, run.folder)
    return None if record is None else _mean_of_defined(record.arrays.get("tau_gradient"))


def _mean_of_defined(values: np.ndarray | None) -> float | None:
    """Return the mean over the texts for which a measure of faithfulness is defined."""
    return None if values is None or np.isnan(values).all() else float(np.nanmean(values))


def seconds_per_epoch(run: FinishedRun) -> float | None:
    """Return the median over epochs, because the first includes warm-up."""
    seconds = run.result.seconds.per_epoch
    return median(seconds) if seconds else None


FAITHFULNESS = ("attention_faithfulness", "gradient_agreement")
SECONDS = "seconds_per_epoch"
RUN_STATISTICS = {
    statistic.compute.__name__: statistic
    for statistic in (
        RunStatistic(attention_faithfulness, RECORD_FILE, "normalized comprehensiveness of attention"),
        RunStatistic(gradient_agreement, RECORD_FILE, "τ of attention and gradient"),
        RunStatistic(attended_share, STATISTICS_FILE, "the attended share of the words"),
        RunStatistic(gradient_variation, GRADIENTS_FILE, "gradient variation, the RMS of ln(b / a)"),
        RunStatistic(seconds_per_epoch, RESULT_FILE, "seconds per epoch"),
    )
}

"""Statistics of a run, one number each, from the files of the run."""

import math
from collections.abc import Callable
from statistics import median
from typing import NamedTuple

import numpy as np

from heedful.records.runs import FinishedRun
from heedful.runs.faithfulness_record import ATTENTION, RECORD_FILE, FaithfulnessRecord
from heedful.runs.result import RESULT_FILE
from heedful.runs.run_files import read_or_warn


class RunStatistic(NamedTuple):
    """A statistic of a run, the file from which it is computed, and its name in sentences."""

    compute: Callable[[FinishedRun], float | None]  # None if data are missing
    file: str
    label: str
    ends: tuple[float, float] = (0.0, math.inf)


def attention_faithfulness(run: FinishedRun) -> float | None:
    record = read_or_warn(FaithfulnessRecord.load, run.folder)
    if record is None or record.options.data not in ("", run.result.data.fingerprint):  # of another file
        return None
    return mean_of_defined(record.values("normalized_comprehensiveness", ATTENTION))


def mean_of_defined(values: np.ndarray | None) -> float | None:
    """Return the mean over the texts for which a measure of faithfulness is defined."""
    return None if values is None or np.isnan(values).all() else float(np.nanmean(values))


def seconds_per_epoch(run: FinishedRun) -> float | None:
    """Return the median over epochs, because the first includes warm-up."""
    seconds = run.result.seconds.per_epoch
    return median(seconds) if seconds else None


FAITHFULNESS = "attention_faithfulness"
SECONDS = "seconds_per_epoch"
RUN_STATISTICS = {
    statistic.compute.__name__: statistic
    for statistic in (
        RunStatistic(attention_faithfulness, RECORD_FILE, "normalized comprehensiveness of attention"),
        RunStatistic(seconds_per_epoch, RESULT_FILE, "seconds per epoch"),
    )
}

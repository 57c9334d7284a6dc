"""Statistics of a run that only claims use, one number each, from the files of the run."""

import numpy as np

from heedful.records.runs import FinishedRun
from heedful.records.statistics import RUN_STATISTICS, RunStatistic, mean_of_defined
from heedful.runs.faithfulness_record import ATTENTION, FaithfulnessRecord
from heedful.runs.run_files import GRADIENTS_FILE, STATISTICS_FILE, read_gradients, read_or_warn, read_statistics
from studies.faithfulness.agreement import RECORD_FILE

MIN_NORMS = 10  # minimum number of gradient norms that `gradient_variation` requires


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


def gradient_agreement(run: FinishedRun) -> float | None:
    record = read_or_warn(lambda folder: FaithfulnessRecord.load(folder, RECORD_FILE), run.folder)
    return None if record is None else mean_of_defined(record.values("tau_gradient", ATTENTION))


STATISTICS = RUN_STATISTICS | {
    statistic.compute.__name__: statistic
    for statistic in (
        RunStatistic(gradient_agreement, RECORD_FILE, "τ of attention and gradient"),
        RunStatistic(attended_share, STATISTICS_FILE, "the attended share of the words"),
        RunStatistic(gradient_variation, GRADIENTS_FILE, "gradient variation, the RMS of ln(b / a)"),
    )
}

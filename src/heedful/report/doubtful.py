"""Labels that may be wrong: confident learning on the probabilities of texts that the model was not trained on."""

import warnings
from dataclasses import dataclass
from importlib.util import find_spec

import numpy as np

from heedful.runs.run_files import Predictions
from heedful.tasks.task import MIN_TEXTS

MAX_SHOWN = 20
MAX_SHARE = 0.1  # of the texts; a weak model doubts many right labels


@dataclass(frozen=True)
class Doubtful:
    """The numbers of the most doubtful texts, and why there are none: "" if their labels were checked."""

    rows: tuple[int, ...] = ()
    reason: str = ""


def find_doubtful(predictions: Predictions) -> Doubtful:
    """Return the texts whose labels are the most doubtful (Northcutt et al. 2021), at most MAX_SHOWN."""
    counts = predictions.confusion_matrix
    if counts is None or counts.sum(1).min() < MIN_TEXTS:
        return Doubtful(
            reason=f"Labels are checked with one class for each text, and {MIN_TEXTS} texts of every class."
        )
    if find_spec("cleanlab") is None:
        return Doubtful(reason="Doubtful labels are found with the extra heedful[labels].")
    from cleanlab.filter import find_label_issues  # an optional package

    probabilities = predictions.probabilities.astype(np.float64)
    probabilities /= probabilities.sum(1, keepdims=True)
    options = {"return_indices_ranked_by": "self_confidence", "filter_by": "both", "n_jobs": 1}
    with warnings.catch_warnings(action="ignore"):  # some classes have few texts
        found = find_label_issues(predictions.labels, probabilities, **options)
    is_correct = predictions.is_correct
    found = [row for row in found.tolist() if not is_correct[row]]
    if len(found) > MAX_SHARE * len(predictions.labels):
        reason = (
            f"{len(found):,} of {len(predictions.labels):,} labels look doubtful to this model, which is too weak to"
        )
        return Doubtful(reason=f"{reason} tell wrong labels from its own mistakes: they are not shown.")
    return Doubtful(tuple(found[:MAX_SHOWN]))

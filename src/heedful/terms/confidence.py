"""From which confidence single predictions may be trusted, measured on texts with known classes."""

from collections.abc import Sequence

import numpy as np

from heedful.runs.result import LowestError
from heedful.runs.run_files import Predictions
from heedful.tasks.multiclass import ConfidenceLimit
from heedful.tasks.task import Task
from heedful.terms.evaluation import proportion
from heedful.terms.temperature import fit_temperature, rescale

LIMITS = 100  # largest number of limits that are measured


def learn_from_validation(
    task: Task, probabilities: np.ndarray, targets: np.ndarray, groups: np.ndarray | None, calibrate: bool
) -> Task:
    """Return the task with the errors of its predictions on n validation texts, from each confidence.

    Args:
        calibrate: whether the temperature is chosen first; the probabilities are those at the present one.
    """
    if "limits" not in task.state_names:
        return task
    if calibrate:
        factor = fit_temperature(probabilities, targets)
        task, probabilities = task.with_state(temperature=task.temperature * factor), rescale(probabilities, factor)
    predictions = Predictions("val", probabilities, targets, task, np.arange(len(targets)), groups)
    return task.with_state(limits=measure_limits(predictions))


def measure_limits(predictions: Predictions) -> tuple[ConfidenceLimit, ...]:
    """Return limits of the confidence from high to low, each halfway between two texts, with the errors above them.

    The last one is 0, which all texts reach.
    """
    confidence = predictions.task.confidence(predictions.probabilities).astype(np.float64)
    order = np.argsort(-confidence, kind="stable")
    scores, is_wrong = confidence[order], ~predictions.is_correct[order]
    groups = None if predictions.groups is None else predictions.groups[order]
    ends = np.flatnonzero(np.append(scores[1:] < scores[:-1], True))  # the last of the texts with equal confidence
    chosen = np.unique(np.linspace(0, len(ends) - 1, min(LIMITS, len(ends))).round().astype(int))
    limits = []
    for texts in (ends[chosen] + 1).tolist():
        error = proportion(is_wrong[:texts], None if groups is None else groups[:texts])
        middle = 0.0 if texts == len(scores) else float(scores[texts - 1] + scores[texts]) / 2
        limits.append(ConfidenceLimit(middle, texts, int(is_wrong[:texts].sum()), error.low, error.high))
    return tuple(limits)


def lowest_error(limits: Sequence[ConfidenceLimit]) -> LowestError:
    """Return the lowest error that one of the limits of a task promises; without limits, nothing."""
    if not limits:
        return LowestError()
    lowest = min(limits, key=lambda limit: limit.expected_error)
    return LowestError(lowest.expected_error, lowest.texts / limits[-1].texts)

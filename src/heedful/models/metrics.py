"""The default metrics: the scores of the task, as metrics of torchmetrics."""

import math
from collections.abc import Collection, Iterable, Mapping
from typing import Literal

import numpy as np
import torch
from torch import Tensor
from torchmetrics import Metric
from torchmetrics.utilities import dim_zero_cat

from heedful.base.errors import UserError
from heedful.base.formatting import format_list, format_names
from heedful.config.keys import default_metrics
from heedful.config.mistakes import no_such
from heedful.tasks.scores import ScoreType
from heedful.tasks.task import Task


class LoggedScore(Metric):
    """A score of the task over all texts, so that logs and results have the same values; NaN if undefined."""

    full_state_update = False
    probabilities: list[Tensor]
    labels: list[Tensor]

    def __init__(self, score: str, of: Task) -> None:
        super().__init__()
        if score not in of.scores:
            raise ValueError(f"score={score}: {no_such('score of this task', score, of.scores)}")
        self.name, self.task = score, of
        self.add_state("probabilities", [], dist_reduce_fx="cat")
        self.add_state("labels", [], dist_reduce_fx="cat")

    @property
    def score(self) -> ScoreType:
        return self.task.scores[self.name]

    @property
    def higher_is_better(self) -> bool:  # type: ignore[override]
        return not self.score.lower_is_better

    def update(self, probabilities: Tensor, labels: Tensor) -> None:
        self.probabilities.append(probabilities)
        self.labels.append(labels)

    def compute(self) -> Tensor:
        probabilities, labels = (dim_zero_cat(state).cpu().numpy() for state in (self.probabilities, self.labels))
        terms = self.score.terms(probabilities, labels)
        return torch.tensor(math.nan if terms is None else terms.mean(), dtype=torch.float32)


def direction(name: str, metrics: Mapping[str, Metric], task: Task) -> Literal["min", "max"] | None:
    """Return the better direction of a logged value, such as val/acc; None if neither metrics nor the task know it.

    A wrapper is what the metric in it is.
    """
    score, higher_is_better = name.split("/")[1] if "/" in name else name, None
    if score == "loss":
        higher_is_better = False
    elif score in metrics:
        parts = [part.higher_is_better for part in metrics[score].modules() if isinstance(part, Metric)]
        higher_is_better = next((known for known in parts if known is not None), None)
    elif score in task.scores:
        higher_is_better = not task.scores[score].lower_is_better
    return None if higher_is_better is None else "max" if higher_is_better else "min"


def require_direction(owner: str, mode: object, monitor: str, metrics: Mapping[str, Metric], task: Task) -> None:
    """Refuse the `mode` of a callback or scheduler that selects the worst of the values that it monitors."""
    best = direction(monitor, metrics, task)
    if mode in ("min", "max") and best not in (None, mode):
        raise UserError(f"{owner}.mode={mode}: selects the worst {monitor}: write {owner}.mode={best}")


def require_scores(monitored: Collection[str], metrics: Mapping[str, Metric], labels: np.ndarray, task: Task) -> None:
    """Refuse callbacks that monitor a score that the task lacks, or without a value on the validation labels."""
    for name in monitored:
        if name.partition("/")[2] in default_metrics().keys() - metrics.keys():
            raise UserError(f"{name} is monitored, but the task has no such score, only {format_list(task.scores)}")
    trial = task.trial(len(labels))
    scores = {f"val/{name}": metric.score for name, metric in metrics.items() if isinstance(metric, LoggedScore)}
    names = [name for name in scores if name in monitored and scores[name].terms(trial, labels) is None]
    require_defined(names, labels, task)


def require_defined(names: Iterable[str], labels: np.ndarray, task: Task) -> None:
    """Refuse callbacks that monitor metrics of these names, which have no value on these validation labels."""
    absent = [name for name, count in zip(task.classes, task.class_counts(labels), strict=True) if not count]
    reason = f", because no validation text has the class {format_names(absent)}" if absent else ""
    for name in names:
        raise UserError(
            f"{name} is monitored, but it is undefined{reason}: monitor another metric, such as val/loss "
            "(callbacks.best_checkpoint.monitor, callbacks.early_stopping.monitor)"
        )

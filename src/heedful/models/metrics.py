"""The default metrics: the scores of `heedful.tasks.scores`, as metrics of torchmetrics."""

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Literal

import numpy as np
import torch
from torch import Tensor
from torchmetrics import Metric
from torchmetrics.utilities import dim_zero_cat

from heedful.base.errors import UserError
from heedful.base.formatting import format_names
from heedful.tasks.scores import SCORES

Name = Literal["acc", "balanced_acc", "precision_macro", "f1_macro", "mcc", "auroc", "ece", "brier", "nll"]


class LoggedScore(Metric):
    """A score in `tasks.scores` over all texts, so that logs and results have the same values; NaN if undefined."""

    full_state_update = False
    probabilities: list[Tensor]
    labels: list[Tensor]

    def __init__(self, score: Name) -> None:
        super().__init__()
        self.score = SCORES[score]
        self.add_state("probabilities", [], dist_reduce_fx="cat")
        self.add_state("labels", [], dist_reduce_fx="cat")

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


def require_scores(
    monitored: Collection[str], metrics: Mapping[str, Metric], labels: np.ndarray, class_names: Sequence[str]
) -> None:
    """Refuse callbacks that monitor a score without a value on the validation labels, whatever the probabilities."""
    uniform = np.full((len(labels), len(class_names)), 1 / len(class_names))
    scores = {f"val/{name}": each.score for name, each in metrics.items() if isinstance(each, LoggedScore)}
    names = [name for name in scores if name in monitored and scores[name].terms(uniform, labels) is None]
    require_defined(names, labels, class_names)


def require_defined(names: Iterable[str], labels: np.ndarray, class_names: Sequence[str]) -> None:
    """Refuse callbacks that monitor metrics without a value on these validation labels.

    Args:
        names: the monitored metrics that have no value.
    """
    absent = [name for c, name in enumerate(class_names) if c not in labels]
    reason = f", because no validation text has the class {format_names(absent)}" if absent else ""
    for name in names:
        raise UserError(
            f"{name} is monitored, but it is undefined{reason}: monitor another metric, such as val/loss "
            "(callbacks.best_checkpoint.monitor, callbacks.early_stopping.monitor)"
        )

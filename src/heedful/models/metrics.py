"""The default metrics: the scores of `heedful.terms.scores`, as metrics of torchmetrics."""

import math
from typing import Literal

import torch
from torch import Tensor
from torchmetrics import Metric
from torchmetrics.utilities import dim_zero_cat

from heedful.terms.scores import SCORES

Name = Literal["acc", "balanced_acc", "precision_macro", "f1_macro", "mcc", "auroc", "ece", "brier", "nll"]


class LoggedScore(Metric):
    """A score in `terms.scores` over all texts, so that logs and results have the same values; NaN if undefined."""

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

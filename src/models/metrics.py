"""Logged metrics that torchmetrics lacks or defines differently."""

from typing import Literal

import torch
from torch import Tensor
from torchmetrics import Metric
from torchmetrics.utilities import dim_zero_cat

from src.terms.scores import SCORES


class LoggedScore(Metric):
    """A score in `src.terms.scores`, where higher is better, over all texts.

    torchmetrics 1.9 includes predicted classes without texts in the mean recall, and returns a Matthews correlation of
    0.29 if the larger of two classes, of 180 and 10 texts, is predicted for all texts.
    """

    higher_is_better = True
    probabilities: list[Tensor]
    labels: list[Tensor]

    def __init__(self, score: Literal["balanced_acc", "mcc"]) -> None:
        super().__init__()
        self.score = SCORES[score]
        self.add_state("probabilities", [], dist_reduce_fx="cat")
        self.add_state("labels", [], dist_reduce_fx="cat")

    def update(self, probabilities: Tensor, labels: Tensor) -> None:
        self.probabilities.append(probabilities)
        self.labels.append(labels)

    def compute(self) -> Tensor:
        probabilities, labels = (dim_zero_cat(state).cpu().numpy() for state in (self.probabilities, self.labels))
        terms = self.score.terms(probabilities, labels)
        assert terms is not None, "these scores are defined for all texts"
        return torch.tensor(terms.mean(), dtype=torch.float32)

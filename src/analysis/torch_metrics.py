"""Logged metrics that torchmetrics lacks or defines differently."""

import torch
from torch import Tensor
from torchmetrics.classification import MulticlassConfusionMatrix

from src.analysis.resampling import confusion_scores


class _ConfusionScore(MulticlassConfusionMatrix):
    """A score of the confusion matrix, computed by `src.analysis.resampling.confusion_scores`."""

    higher_is_better = True
    score: str  # name of the score in the result of `confusion_scores`

    def compute(self) -> Tensor:
        matrix = super().compute()
        score = confusion_scores(matrix.cpu().numpy()[None])[self.score][0]
        return torch.tensor(score, dtype=torch.float32, device=matrix.device)


class BalancedAccuracy(_ConfusionScore):
    """The mean recall of the classes that have texts; torchmetrics includes predicted classes without texts."""

    score = "balanced_acc"


class MatthewsCorrelation(_ConfusionScore):
    """Matthews' correlation coefficient; 0 if all texts have the same predicted class, or the same true class.

    For two classes of 180 and 10 texts, torchmetrics 1.9 returns 0.29 if the larger class is predicted for all texts.
    """

    score = "mcc"

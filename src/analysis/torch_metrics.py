"""Logged metrics that torchmetrics lacks or defines differently."""

from typing import Any

import torch
from torch import Tensor
from torchmetrics.classification import MulticlassConfusionMatrix

from src.analysis.resampling import confusion_scores


class ConfusionScore(MulticlassConfusionMatrix):
    """A score of the confusion table, computed by `src.analysis.resampling.confusion_scores`.

    Args:
        num_classes: number of classes.
        score: name of the score in the result of `confusion_scores`.
    """

    higher_is_better = True

    def __init__(self, num_classes: int, score: str, **kwargs: Any) -> None:
        super().__init__(num_classes, **kwargs)
        self.score = score

    def compute(self) -> Tensor:
        table = super().compute()
        value = confusion_scores(table.cpu().numpy()[None])[self.score][0]
        return torch.tensor(value, dtype=torch.float32, device=table.device)


class BalancedAccuracy(ConfusionScore):
    """The mean recall of the classes that have texts; torchmetrics includes predicted classes without texts."""

    def __init__(self, num_classes: int, **kwargs: Any) -> None:
        super().__init__(num_classes, "balanced_acc", **kwargs)


class MatthewsCorrelation(ConfusionScore):
    """Matthews' correlation coefficient; 0 if one class is predicted for all texts.

    For two classes of 180 and 10 texts, torchmetrics 1.9 returns 0.29 if the larger class is predicted for all texts.
    """

    def __init__(self, num_classes: int, **kwargs: Any) -> None:
        super().__init__(num_classes, "mcc", **kwargs)

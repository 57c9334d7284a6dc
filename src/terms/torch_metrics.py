"""Logged metrics that torchmetrics lacks or defines differently; both equal the scores in `src.terms.scores`."""

import torch
from torch import Tensor
from torchmetrics.classification import MulticlassConfusionMatrix


class BalancedAccuracy(MulticlassConfusionMatrix):
    """The mean recall of the classes that have texts; torchmetrics includes predicted classes without texts."""

    higher_is_better = True

    def compute(self) -> Tensor:
        counts = super().compute().double()
        true = counts.sum(1)
        recalls = (counts.diagonal() / true)[true > 0]
        return recalls.mean().float()


class MatthewsCorrelation(MulticlassConfusionMatrix):
    """Matthews' correlation coefficient; 0 if all texts have the same predicted class, or the same true class.

    For two classes of 180 and 10 texts, torchmetrics 1.9 returns 0.29 if the larger class is predicted for all texts.
    """

    higher_is_better = True

    def compute(self) -> Tensor:
        counts = super().compute().double()
        shares = counts / counts.sum()
        predicted, true = shares.sum(0), shares.sum(1)
        spread = (1 - predicted @ predicted) * (1 - true @ true)
        covariance = shares.diagonal().sum() - predicted @ true
        is_constant = (predicted.max() == 1) | (true.max() == 1)
        return torch.where(is_constant, 0.0, covariance / spread.clamp(min=1e-300).sqrt()).float()

"""Scores of the metrics that a user adds: their 95 % intervals, and the values that a comparison resamples."""

from copy import deepcopy

import numpy as np
import torch
from torchmetrics import Metric as TorchMetric

from src.analysis.metrics import Metric

GROUPS = 100  # number of groups of texts; each is left out once


class AddedMetric:
    """A metric as a function of probabilities n×C and labels n, computed on the CPU by this process alone.

    Args:
        metric: accepts probabilities and labels, and returns a number.
    """

    def __init__(self, metric: TorchMetric) -> None:
        self._metric = deepcopy(metric).cpu()
        parts = [part for part in self._metric.modules() if isinstance(part, TorchMetric)]
        for part in parts:
            part.distributed_available_fn = _is_never_distributed
        self.is_lower_better = parts[-1].higher_is_better is False  # the last part is the innermost metric
        self.highest = parts[-1].plot_upper_bound

    def __call__(self, probabilities: np.ndarray, labels: np.ndarray) -> float:
        self._metric.reset()
        p, y = torch.from_numpy(probabilities.astype(np.float32)), torch.from_numpy(labels.astype(np.int64))
        self._metric.update(p, y)
        return float(self._metric.compute())

    def with_interval(self, probabilities: np.ndarray, labels: np.ndarray) -> Metric:
        """Return the score with its 95 % interval, by Student's t from the values of `by_group`; None if undefined."""
        n, value = len(labels), self(probabilities, labels)
        if not np.isfinite(value):
            return Metric(None, None, None, n)
        numbers = self.by_group(probabilities, labels)
        if numbers is None or np.ptp(numbers) < 1e-6:
            return Metric(value, None, None, n)
        from scipy.stats import t as student  # its import takes a second

        margin = float(student.ppf(0.975, len(numbers) - 1) * numbers.std(ddof=1) / np.sqrt(len(numbers)))
        high = value + margin
        return Metric(value, value - margin, high if self.highest is None else max(value, min(high, self.highest)), n)

    def by_group(self, probabilities: np.ndarray, labels: np.ndarray) -> np.ndarray | None:
        """Return one value per group of texts, so that their mean is the score and varies like it under resampling.

        These are the values of the delete-a-group jackknife (Wolter 2007, chapter 4). The texts are assigned to 100
        groups at random, in the same way for all runs on these texts; if there are fewer than 200 texts, each text is a
        group.

        Returns:
            One value per group; None if there are fewer than two texts, or if the score of the complete set of texts,
            or of the texts outside one of the groups, is undefined.
        """
        n = len(labels)
        groups = GROUPS if n >= 2 * GROUPS else n
        if groups < 2:
            return None
        group = np.random.default_rng(0).permutation(n) % groups
        without = np.array([self(probabilities[group != i], labels[group != i]) for i in range(groups)])
        numbers = self(probabilities, labels) + (groups - 1) * (without.mean() - without)
        return numbers if np.isfinite(numbers).all() else None


def _is_never_distributed() -> bool:
    return False

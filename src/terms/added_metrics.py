"""Metrics added by the user: scores with 95 % intervals, and values of groups of texts whose mean is the score."""

from copy import deepcopy

import numpy as np
import torch
from torchmetrics import Metric

from src.run_result import Score
from src.terms.intervals import mean_of_terms

GROUPS = 100  # number of groups of texts; the jackknife leaves out each group once


class AddedMetric:
    """A metric as a function of probabilities n×C and labels n, computed on the CPU in this process alone.

    Args:
        metric: returns a single number for probabilities and labels. It is copied.
    """

    def __init__(self, metric: Metric) -> None:
        self._metric = deepcopy(metric).cpu()
        *_, innermost = metrics = [module for module in self._metric.modules() if isinstance(module, Metric)]
        for nested in metrics:
            nested.distributed_available_fn = lambda: False
        self.is_lower_better = innermost.higher_is_better is False
        self.upper_bound = innermost.plot_upper_bound

    def __call__(self, probabilities: np.ndarray, labels: np.ndarray) -> float:
        self._metric.reset()
        p, y = torch.from_numpy(probabilities.astype(np.float32)), torch.from_numpy(labels.astype(np.int64))
        self._metric.update(p, y)
        return float(self._metric.compute())

    def with_interval(self, probabilities: np.ndarray, labels: np.ndarray) -> Score:
        """Return the score with its 95 % interval: Student's t interval for the mean of the values of `by_group`.

        If the metric declares a highest possible value, the upper bound does not exceed it. The score and the bounds
        are None if the score is undefined; the bounds alone are None if the values of `by_group` are undefined or all
        equal.
        """
        n, value = len(labels), self(probabilities, labels)
        if not np.isfinite(value):
            return Score(None, None, None, n)
        values = self.by_group(probabilities, labels)
        if values is None or np.ptp(values) < 1e-6:
            return Score(value, None, None, n)
        _, low, high = mean_of_terms(values)
        if high is not None and self.upper_bound is not None:
            high = max(value, min(high, self.upper_bound))
        return Score(value, low, high, n)

    def by_group(self, probabilities: np.ndarray, labels: np.ndarray) -> np.ndarray | None:
        """Return a value for each group of texts; the mean of the values is the score.

        The values are the pseudo-values of the delete-a-group jackknife (Wolter 2007, chapter 4), shifted so that their
        mean is the score. Their variance divided by the number of groups is an estimate of the variance of the score.
        The texts are assigned at random to 100 groups, which are the same for all runs on these texts; if there are
        fewer than 200 texts, each text is a group.

        Returns:
            One value per group; None if there are fewer than two texts, or if the score of all texts, or of all texts
            outside one of the groups, is undefined.
        """
        n = len(labels)
        groups = GROUPS if n >= 2 * GROUPS else n
        if groups < 2:
            return None
        group = np.random.default_rng(0).permutation(n) % groups
        without = np.array([self(probabilities[group != i], labels[group != i]) for i in range(groups)])
        values = self(probabilities, labels) + (groups - 1) * (without.mean() - without)
        return values if np.isfinite(values).all() else None

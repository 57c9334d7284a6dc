"""Metrics added by the user, as scores whose terms are values of groups of texts."""

from copy import deepcopy
from math import inf

import numpy as np
import torch
from torchmetrics import Metric

from src.terms.scores import ScoreType

GROUPS = 100  # number of groups of texts; the jackknife leaves out each group once


def added_score(metric: Metric, name: str) -> ScoreType:
    """Return a copy of a metric as a score; it is computed on the CPU, in this process alone.

    The terms are the pseudo-values of the delete-a-group jackknife (Wolter 2007, chapter 4), shifted so that their
    mean is the score. Their variance divided by the number of groups is an estimate of the variance of the score. The
    texts are assigned at random to 100 groups, which are the same for all runs on these texts; if there are fewer than
    200 texts, each text is a group. The score is the only term if there are fewer than two texts, if the pseudo-values
    are equal, or if the score of all texts outside one of the groups is undefined.

    Args:
        metric: returns a single number for probabilities and labels.
    """
    metric = deepcopy(metric).cpu()
    *_, innermost = metrics = [module for module in metric.modules() if isinstance(module, Metric)]
    for nested in metrics:
        nested.distributed_available_fn = lambda: False

    def value(probabilities: np.ndarray, labels: np.ndarray) -> float:
        metric.reset()
        metric.update(torch.from_numpy(probabilities.astype(np.float32)), torch.from_numpy(labels.astype(np.int64)))
        return float(metric.compute())

    def terms(probabilities: np.ndarray, labels: np.ndarray) -> np.ndarray | None:
        n, of_all = len(labels), value(probabilities, labels)
        if not np.isfinite(of_all):
            return None
        groups = GROUPS if n >= 2 * GROUPS else n
        group = np.random.default_rng(0).permutation(n) % groups
        parts = [(probabilities[group != i], labels[group != i]) for i in range(groups) if groups > 1]
        without = np.array([value(*part) for part in parts])
        if groups < 2 or not np.isfinite(without).all() or np.ptp(without) * (groups - 1) < 1e-6:
            return np.array([of_all])
        return of_all + (groups - 1) * (without.mean() - without)

    highest = inf if innermost.plot_upper_bound is None else innermost.plot_upper_bound
    return ScoreType(terms, name, -inf, highest, lower_is_better=innermost.higher_is_better is False)

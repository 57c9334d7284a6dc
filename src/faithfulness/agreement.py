"""Agreement of attention with gradients and leave-one-out, and the effect of other weights (Jain & Wallace 2019).

Reported as a replication: Neely et al. (2022) show that agreement between rankings does not decide which is faithful.
"""

from collections.abc import Sequence

import numpy as np
import torch
from scipy.stats import kendalltau
from torch import Tensor

from src.faithfulness.measures import Predicted
from src.faithfulness.probe import QUADRATIC_TOKENS, Probe, Scores

PERMUTATIONS = 100


def kendall(attention: Scores, other: Scores) -> np.ndarray:
    """Kendall's τ-b of attention weights and the absolute values of other scores, n; NaN if one is constant.

    Jain & Wallace (2019, algorithm 1) take the absolute gradient and the total variation distance of the prediction
    without the token. For two classes these are the absolute values of the scores of this package.
    """
    return np.array(
        [
            kendalltau(weights, np.abs(scores)).statistic
            if np.ptp(weights) > 0 and np.ptp(np.abs(scores)) > 0
            else np.nan
            for weights, scores in zip(attention, other, strict=True)
        ]
    )


@torch.inference_mode()
def replaced_weights(
    probe: Probe, predicted: Predicted, rngs: Sequence[np.random.Generator]
) -> tuple[np.ndarray, np.ndarray]:
    """Total variation distance of the prediction, n each: median over 100 permutations of the weights, and uniform.

    Jain & Wallace 2019, algorithm 2. NaN where the attention is not a single row of weights for each text.
    """
    permuted, uniform = (np.full(len(predicted), np.nan) for _ in range(2))
    for rows, tokens, mask in probe.batches(predicted.texts, QUADRATIC_TOKENS):
        encoded = probe.model.encode(probe.model.embed(tokens, mask), mask)
        weights = probe.model.attention.weights(encoded)  # N×H×T×L
        if weights.shape[2] != 1:
            return permuted, uniform
        try:
            whole = probe.loss.probabilities(probe.model.classify_mixed(encoded, weights))
        except NotImplementedError:
            return permuted, uniform

        def distance(weights: Tensor) -> np.ndarray:
            other = probe.loss.probabilities(probe.model.classify_mixed(encoded, weights))  # noqa: B023
            return ((other - whole).abs().sum(1) / 2).double().cpu().numpy()  # noqa: B023

        lengths = mask.sum(1).cpu().numpy()
        distances = []
        for _ in range(PERMUTATIONS):
            order = np.tile(np.arange(mask.shape[1]), (len(rows), 1))
            for line, row in enumerate(rows.tolist()):
                order[line, : lengths[line]] = rngs[row].permutation(lengths[line])
            index = torch.from_numpy(order).to(weights.device)[:, None, None, :].expand_as(weights)
            distances.append(distance(weights.gather(3, index)))
        permuted[rows] = np.median(distances, axis=0)
        even = (mask / mask.sum(1, keepdim=True))[:, None, None, :].expand_as(weights)
        uniform[rows] = distance(even.to(weights.dtype))
    return permuted, uniform

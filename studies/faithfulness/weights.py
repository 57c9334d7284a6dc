"""Predictions with other attention weights (Jain and Wallace 2019): `python -m studies.faithfulness.weights <runs>`.

TVD: the total variation distance between the prediction and the prediction with permuted weights (median of 100
permutations) or with uniform weights. JSD: the largest Jensen–Shannon divergence (at most 0.69) between the attention
and other weights that change the prediction by at most 0.01. The attention must have one weight for each token, which
excludes self-attention.
"""

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from heedful.data.padded_batches import Inputs
from heedful.faithfulness.measurement import measure_texts
from heedful.faithfulness.measures import Predicted
from heedful.faithfulness.trained import ProbedRun, SampledTexts
from heedful.models.component import Encoded, masked_softmax
from heedful.models.probe import QUADRATIC_TOKENS, Probe
from heedful.runs.faithfulness_record import ATTENTION
from studies.faithfulness.script import Arrays, compute_chunks, study

PERMUTATIONS = 100
TOLERANCE = 0.01  # adversarial weights change the prediction by at most this distance (Jain & Wallace 2019, sec. 4.2.2)
# search for adversarial weights: number of steps and learning rate of Adam, and factor of the penalty on distances
# above TOLERANCE
STEPS, RATE, PENALTY = 200, 0.1, 500.0
HEADINGS = {
    "permuted": "TVD, permuted weights",
    "uniform": "TVD, uniform weights",
    "adversarial": "JSD, adversarial weights",
}


@torch.inference_mode()
def replaced_weights(
    probe: Probe, predicted: Predicted, rngs: Sequence[np.random.Generator]
) -> tuple[np.ndarray, np.ndarray]:
    """Return how much permuted and uniform weights change the prediction, as total variation distances, n each.

    The first array has the median over 100 permutations of each text's weights (Jain & Wallace 2019, algorithm 2). Both
    arrays are NaN if the attention does not have exactly one row of weights for each text, or if it does not average
    states by these weights.
    """
    permuted, uniform = (np.full(len(predicted.texts), np.nan) for _ in range(2))
    for rows, inputs in probe.batches(predicted.texts, QUADRATIC_TOKENS):
        attended = _attend(probe, inputs)
        if attended is None:
            break
        encoded, weights, probabilities = attended
        lengths = inputs.mask.sum(1).cpu().numpy()
        distances = []
        for _ in range(PERMUTATIONS):
            order = np.tile(np.arange(inputs.mask.shape[1]), (len(rows), 1))
            for i, row in enumerate(rows.tolist()):
                order[i, : lengths[i]] = rngs[row].permutation(lengths[i])
            index = torch.from_numpy(order).to(weights.device)[:, None, None, :].expand_as(weights)
            distances.append(
                _distance(probe, inputs, encoded, weights.gather(3, index), probabilities).double().cpu().numpy()
            )
        permuted[rows] = np.median(distances, axis=0)
        equal = (inputs.mask / inputs.mask.sum(1, keepdim=True))[:, None, None, :].expand_as(weights)
        uniform[rows] = _distance(probe, inputs, encoded, equal.to(weights.dtype), probabilities).double().cpu().numpy()
    return permuted, uniform


def adversarial_weights(probe: Probe, predicted: Predicted, rngs: Sequence[np.random.Generator]) -> np.ndarray:
    """Return the largest divergence between the attention and other weights that change the prediction by ≤ 0.01: n.

    The Jensen–Shannon divergence (Jain & Wallace 2019, eq. 1) is maximized by gradient ascent from random weights. It
    is at most ln 2 = 0.69, and 0 if the search finds no such weights; a high value means that very different weights
    lead to almost the same prediction. It is NaN under the same conditions as the results of `replaced_weights`.
    """
    best = np.full(len(predicted.texts), np.nan)
    for rows, inputs in probe.batches(predicted.texts, QUADRATIC_TOKENS):
        attended = _attend(probe, inputs)
        if attended is None:
            break
        encoded, weights, probabilities = attended
        start = np.zeros(weights.shape, dtype=np.float32)
        for i, row in enumerate(rows.tolist()):
            start[i, :, :, : len(predicted.texts[row])] = rngs[row].standard_normal(len(predicted.texts[row]))
        scores = torch.from_numpy(start).to(weights).requires_grad_()
        optimizer = torch.optim.Adam([scores], RATE)
        highest = np.zeros(len(rows))
        for _ in range(STEPS):
            other = masked_softmax(scores, inputs.mask[:, None, None, :])
            distance = _distance(probe, inputs, encoded, other, probabilities)  # N
            divergence = jensen_shannon(weights, other)  # N
            allowed = torch.where(distance <= TOLERANCE, divergence, 0.0).detach().double().cpu().numpy()
            highest = np.maximum(highest, allowed)
            optimizer.zero_grad()
            (PENALTY * (distance - TOLERANCE).clamp(min=0) - divergence).sum().backward()
            optimizer.step()
        best[rows] = highest
    return best


@torch.no_grad()
def _attend(probe: Probe, inputs: Inputs) -> tuple[Encoded, Tensor, Tensor] | None:
    """Return encoded texts, attention weights N×H×1×L and probabilities N×C; None if weights cannot be replaced."""
    encoded = probe.model.encode(inputs)
    if probe.model.attention.per_token:
        return None
    weights = probe.model.attention.weights(encoded)  # N×H×1×L
    return encoded, weights, probe.task.probabilities(probe.model.classify(encoded, inputs.columns, weights))


def _distance(probe: Probe, inputs: Inputs, encoded: Encoded, weights: Tensor, probabilities: Tensor) -> Tensor:
    """Return the total variation distance N between `probabilities` and the predictions with other weights."""
    other = probe.task.probabilities(probe.model.classify(encoded, inputs.columns, weights))
    return (other - probabilities).abs().sum(1) / 2


def jensen_shannon(first: Tensor, second: Tensor) -> Tensor:
    """Return the Jensen–Shannon divergence between weights N×H×1×L in nats, averaged over heads: N."""
    mean = ((first + second) / 2).clamp(min=1e-20)
    entropy, other_entropy = (torch.xlogy(weights, weights / mean).sum(3) for weights in (first, second))
    return ((entropy + other_entropy) / 2).mean((1, 2))


def compute(trained: ProbedRun, sample: SampledTexts, seed: int) -> Arrays:
    def of_chunk(chunk: np.ndarray) -> Arrays:
        probe, texts = trained.probe, [sample.texts[i] for i in chunk]
        rngs = [np.random.default_rng([seed, row]) for row in sample.rows[chunk].tolist()]
        # the published results have the random numbers that follow those of the limits
        probabilities = measure_texts(probe, texts, rngs)[0]["probabilities"]
        predicted = Predicted(texts, probabilities.argmax(1), probabilities.max(1))
        arrays = (*replaced_weights(probe, predicted, rngs), adversarial_weights(probe, predicted, rngs))
        return {(ATTENTION, name): values for name, values in zip(HEADINGS, arrays, strict=True)}

    return compute_chunks(trained, sample, of_chunk)


if __name__ == "__main__":
    study("weights", __doc__, compute, HEADINGS)

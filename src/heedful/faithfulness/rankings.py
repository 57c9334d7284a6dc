"""The rankings that are compared: each gives a score to every token of a text."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from heedful.faithfulness.measures import Predicted
from heedful.models.probe import Probe, Scores, TokenIds
from heedful.runs.faithfulness_record import (
    ATTENTION,
    ATTENTION_GRADIENT,
    GRADIENT,
    INTEGRATED,
    LEAVE_ONE_OUT,
    RANDOM,
    UNIFORM,
)

# increment FORMAT in runs/faithfulness_record.py when you change one of these numbers, so that runs are measured again
STEPS = (16, 64)  # numbers of steps of the integral; the second number is for errors between TOLERANCE and JUMP
TOLERANCE = 0.005  # largest error that is accepted, in units of probability
JUMP = 0.05  # if the error is larger, p jumps at a point of the path, and more steps do not help


def rank_tokens(
    probe: Probe, predicted: Predicted, rngs: Sequence[np.random.Generator]
) -> tuple[dict[str, Scores], np.ndarray]:
    """Return the scores of the tokens of n texts by ranking, and the errors of the integrated gradients, n.

    `attention × gradient` is missing if the attention does not support it.
    """
    texts, classes, probabilities = predicted
    integrated, errors = integrated_gradients(probe, texts, classes)
    without = zip(probabilities, probe.without_each(texts, classes), strict=True)
    scores: dict[str, Scores | None] = {
        ATTENTION: probe.attention(texts),
        ATTENTION_GRADIENT: probe.attention_gradient(texts, classes),
        GRADIENT: probe.gradient_times_input(texts, classes),
        INTEGRATED: integrated,
        LEAVE_ONE_OUT: [probability - part for probability, part in without],
        RANDOM: [rng.random(len(text)) for rng, text in zip(rngs, texts, strict=True)],
        UNIFORM: [np.full(len(text), 1 / len(text)) for text in texts],
    }
    return {name: values for name, values in scores.items() if values is not None}, errors


def integrated_gradients(probe: Probe, texts: TokenIds, classes: np.ndarray) -> tuple[Scores, np.ndarray]:
    """Integrate the gradients of p(c) from zeros to the embeddings of the text (Sundararajan, Taly & Yan 2017, eq. 1).

    The error of a text is the sum of its scores minus (p(c|x) − p(c|zeros)), NaN if the sum overflows.
    """
    few, many = STEPS
    scores, errors = _integrate(probe, texts, classes, few)
    rows = np.flatnonzero(is_inexact(errors) & (np.abs(errors) <= JUMP)).tolist()
    if rows:
        refined, errors[rows] = _integrate(probe, [texts[row] for row in rows], classes[rows], many)
        for row, values in zip(rows, refined, strict=True):
            scores[row] = values
    return scores, errors


def is_inexact(errors: np.ndarray) -> np.ndarray:
    """Return whether the size of each error of an integral exceeds TOLERANCE: n bool, true for NaN (an overflow)."""
    return ~(np.abs(errors) <= TOLERANCE)


def _integrate(probe: Probe, texts: TokenIds, classes: np.ndarray, steps: int) -> tuple[Scores, np.ndarray]:
    from captum.attr import IntegratedGradients  # an optional package

    def method(probability: Callable[[Tensor], Tensor], embeddings: Tensor) -> tuple[Tensor, Tensor]:
        integral: Any = IntegratedGradients(probability)
        return integral.attribute(
            embeddings,
            baselines=torch.zeros_like(embeddings),
            n_steps=steps,
            internal_batch_size=len(embeddings),  # one step at a time, so that each batch has the texts of `embeddings`
            return_convergence_delta=True,
        )

    return probe.attribute(texts, classes, method)

"""Random texts of different lengths, and attention computed by loops, as references in float64."""

import math
from collections.abc import Callable

import torch
from torch import Tensor

from heedful.models.component import Encoded


def ragged(dim: int, lengths: tuple[int, ...] = (7, 1, 4)) -> Encoded:
    """Random texts N×L×dim; padding contains numbers too, so that a component that uses them fails its test."""
    generator = torch.Generator().manual_seed(0)
    longest = max(lengths)
    states = torch.randn(len(lengths), longest, dim, dtype=torch.float64, generator=generator)
    mask = torch.arange(longest) < torch.tensor(lengths).unsqueeze(1)
    return Encoded(states, mask, torch.randn(len(lengths), dim, dtype=torch.float64, generator=generator))


def padded(encoded: Encoded, extra: int) -> Encoded:
    """The same texts with `extra` more tokens of padding."""
    generator = torch.Generator().manual_seed(1)
    texts, _, dim = encoded.states.shape
    padding = torch.randn(texts, extra, dim, dtype=encoded.states.dtype, generator=generator)
    padding_mask = torch.zeros(texts, extra, dtype=torch.bool)
    return Encoded(torch.cat([encoded.states, padding], 1), torch.cat([encoded.mask, padding_mask], 1), encoded.summary)


def softmax(scores: list[float]) -> list[float]:
    powers = [math.exp(score) for score in scores]
    return [power / sum(powers) for power in powers]


def attend(
    queries: Tensor,
    keys: Tensor,
    values: Tensor,
    mask: Tensor,
    score: Callable[[Tensor, Tensor], float],
    window: int = 1000,
) -> tuple[Tensor, Tensor]:
    """Weights N×L×L and outputs N×L×d of one head, computed token by token; they are zero for padding."""
    texts, length = mask.shape
    weights = torch.zeros(texts, length, length, dtype=torch.float64)
    outputs = torch.zeros(texts, length, values.shape[-1], dtype=torch.float64)
    for n in range(texts):
        real = [t for t in range(length) if mask[n, t]]
        for i in real:
            near = [j for j in real if abs(i - j) <= window]
            row = softmax([score(queries[n, i], keys[n, j]) for j in near])
            for j, weight in zip(near, row, strict=True):
                weights[n, i, j] = weight
                outputs[n, i] += weight * values[n, j]
    return weights, outputs


def close(actual: Tensor, expected: Tensor, tolerance: float = 1e-10) -> bool:
    return actual.shape == expected.shape and torch.allclose(actual, expected, rtol=0, atol=tolerance)

"""All arithmetic that must not see padding. A row without a single real token gives zeros, never NaN."""

import torch
from torch import Tensor


def masked_softmax(scores: Tensor, mask: Tensor, dim: int = -1) -> Tensor:
    """Softmax over the real entries of `dim`; padding gets exactly 0, and so does every entry of an empty row.

    Args:
        scores: any floating tensor.
        mask: bool, broadcastable to `scores`.

    Returns:
        Weights of the shape of `scores`, summing to 1 along `dim` wherever one entry is real.
    """
    lowest = torch.finfo(scores.dtype).min  # finite: -inf would make an empty row NaN
    weights = torch.softmax(scores.masked_fill(~mask, lowest), dim)
    return weights.masked_fill(~mask, 0.0)


def masked_sum(states: Tensor, mask: Tensor) -> Tensor:
    """Sum of the real states: N×T×D, N×T → N×D."""
    return states.masked_fill(~mask.unsqueeze(-1), 0.0).sum(1)


def masked_mean(states: Tensor, mask: Tensor) -> Tensor:
    """Mean of the real states: N×T×D, N×T → N×D."""
    count = mask.sum(1, keepdim=True).clamp(min=1)  # N×1
    return masked_sum(states, mask) / count


def masked_max(states: Tensor, mask: Tensor) -> Tensor:
    """Largest value of each feature over the real states: N×T×D, N×T → N×D."""
    lowest = torch.finfo(states.dtype).min
    highest = states.masked_fill(~mask.unsqueeze(-1), lowest).amax(1)
    return highest.masked_fill(~mask.any(1, keepdim=True), 0.0)


def state_at(states: Tensor, mask: Tensor, last: bool) -> Tensor:
    """The last (or first) real state of each row: N×T×D, N×T → N×D. Padding may stand anywhere."""
    steps = torch.arange(mask.shape[1], device=mask.device)
    at = (steps * mask).amax(1) if last else mask.int().argmax(1)  # N
    chosen = states[torch.arange(len(states), device=mask.device), at]
    return chosen.masked_fill(~mask.any(1, keepdim=True), 0.0)


def reverse_by_length(states: Tensor, mask: Tensor) -> Tensor:
    """Each row's real states in reverse order, padding left where it was; its own inverse: N×T×D, N×T → N×T×D.

    Padding must stand at the end of a row.
    """
    lengths = mask.sum(1, keepdim=True)  # N×1
    steps = torch.arange(mask.shape[1], device=mask.device)  # T
    source = torch.where(mask, lengths - 1 - steps, steps)  # N×T
    return states.gather(1, source.unsqueeze(-1).expand_as(states))

"""All arithmetic that must not see padding. A row without a single real token gives zeros, never NaN.

Masks are multiplied and added, several times as fast on a CPU as filling: what stands on padding must be finite.
"""

from typing import Any

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
    return torch.softmax(scores + _lowest(scores, mask), dim) * mask


def _lowest(numbers: Tensor, mask: Tensor) -> Tensor:
    """What hides padding when added: 0 on real entries, and elsewhere a number so low that none is left beside it.

    Half of the lowest: -inf, which the sum must not reach, would make an empty row NaN.
    """
    return numbers.new_zeros(mask.shape).masked_fill_(~mask, torch.finfo(numbers.dtype).min / 2)


def zero_padding(states: Tensor, mask: Tensor) -> Tensor:
    """Zeros where padding stands: N×T×D, N×T → N×T×D."""
    return states * mask.unsqueeze(-1)


def masked_sum(states: Tensor, mask: Tensor) -> Tensor:
    """Sum of the real states: N×T×D, N×T → N×D."""
    return zero_padding(states, mask).sum(1)


def masked_mean(states: Tensor, mask: Tensor) -> Tensor:
    """Mean of the real states: N×T×D, N×T → N×D."""
    count = mask.sum(1, keepdim=True).clamp(min=1)  # N×1
    return masked_sum(states, mask) / count


def masked_max(states: Tensor, mask: Tensor) -> Tensor:
    """Largest value of each feature over the real states: N×T×D, N×T → N×D."""
    highest = (states + _lowest(states, mask.unsqueeze(-1))).max(1).values  # amax takes twice the time backwards
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
    rows = torch.arange(len(mask), device=mask.device).unsqueeze(1) * mask.shape[1]  # N×1
    reversed_states: Tensor = _Exchange.apply(states, (rows + source).flatten())
    return reversed_states


class _Exchange(torch.autograd.Function):
    """The states N×T×D in another order of all N T, which must be its own inverse.

    Gradients are exchanged likewise: torch would add them up, scattered, at several times the price.
    """

    @staticmethod
    def forward(ctx: Any, states: Tensor, order: Tensor) -> Tensor:
        ctx.order = order
        return states.flatten(0, 1).index_select(0, order).view_as(states)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
        return _Exchange.apply(gradient, ctx.order), None

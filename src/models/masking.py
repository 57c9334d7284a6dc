"""Operations on the real states of padded texts: softmax, sum, mean, maximum, selection and reversal.

The result for a text without real tokens is zero, never NaN, except that the reversal leaves padding unchanged. Most
functions multiply by the mask or add a bias, which is several times as fast as `masked_fill` on a CPU. Padding must
therefore contain finite values.
"""

import torch
from torch import Tensor

from src.kernels.recurrence import exchange_rows


def masked_softmax(scores: Tensor, mask: Tensor, dim: int = -1) -> Tensor:
    """Return the softmax over the real entries along `dim`; padding gets exactly 0.

    The mask is broadcast to the scores. The weights sum to 1 along `dim`, or are all 0 if no entry is real.
    """
    return torch.softmax(scores + _padding_bias(scores, mask), dim) * mask


def _padding_bias(values: Tensor, mask: Tensor) -> Tensor:
    """Return 0 on real entries and half the lowest finite value on padding; -inf would give NaN if no entry is real."""
    return values.new_zeros(mask.shape).masked_fill_(~mask, torch.finfo(values.dtype).min / 2)


def zero_padding(states: Tensor, mask: Tensor) -> Tensor:
    """Set padding to zero: N×T×D, N×T → N×T×D."""
    return states * mask.unsqueeze(-1)


def masked_sum(states: Tensor, mask: Tensor) -> Tensor:
    """Return the sum of the real states: N×T×D, N×T → N×D."""
    return zero_padding(states, mask).sum(1)


def masked_mean(states: Tensor, mask: Tensor) -> Tensor:
    """Return the mean of the real states: N×T×D, N×T → N×D."""
    count = mask.sum(1, keepdim=True).clamp(min=1)  # N×1
    return masked_sum(states, mask) / count


def masked_max(states: Tensor, mask: Tensor) -> Tensor:
    """Return the maximum of each feature over the real states: N×T×D, N×T → N×D."""
    # max, because the backward pass of amax takes twice as long
    highest = (states + _padding_bias(states, mask.unsqueeze(-1))).max(1).values
    return highest.masked_fill(~mask.any(1, keepdim=True), 0.0)


def state_at(states: Tensor, mask: Tensor, last: bool) -> Tensor:
    """Return the last or first real state of each row, whose padding may be anywhere: N×T×D, N×T → N×D."""
    steps = torch.arange(mask.shape[1], device=mask.device)
    positions = (steps * mask).amax(1) if last else mask.int().argmax(1)  # N
    selected = states[torch.arange(states.shape[0], device=mask.device), positions]
    return selected.masked_fill(~mask.any(1, keepdim=True), 0.0)


def reverse_by_length(states: Tensor, mask: Tensor) -> Tensor:
    """Reverse the order of the real states in each row: N×T×D, N×T → N×T×D.

    Padding must be at the end of each row, and stays there. A second reversal restores the original order.
    """
    lengths = mask.sum(1, keepdim=True)  # N×1
    steps = torch.arange(mask.shape[1], device=mask.device)  # T
    source = torch.where(mask, lengths - 1 - steps, steps)  # N×T
    rows = torch.arange(mask.shape[0], device=mask.device).unsqueeze(1) * mask.shape[1]  # N×1
    return exchange_rows(states, (rows + source).flatten())

"""Dropout of attention weights on a CPU, where torch's fused kernels have none.

Torch falls back on holding all N×H×T×L weights, their mask and their gradients in memory. Here each weight is
dropped by 16 random bits, and weights are made, used and made again a few texts at a time, so that they stay in
the processor's cache: about three times as fast, with the same distribution up to a rate's last 1/65,536.
"""

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

LEVELS = 2**16  # of a random number of 16 bits
CHUNK = 2**18  # weights at a time: 1 MB, what a core's second cache holds


class _DroppedAttention(torch.autograd.Function):
    @staticmethod
    @torch.amp.custom_fwd(device_type="cpu", cast_inputs=torch.float32)
    def forward(ctx: Any, queries: Tensor, keys: Tensor, values: Tensor, visible: Tensor, rate: float) -> Tensor:
        dropped = min(round(rate * LEVELS), LEVELS - 1)
        kept = _random_levels(queries, keys) >= dropped - LEVELS // 2  # N×H×T×L
        ctx.scale = LEVELS / (LEVELS - dropped)
        hidden = torch.where(visible, 0.0, -torch.inf).to(queries.dtype)  # adding it is faster than filling
        ctx.save_for_backward(queries, keys, values, hidden, kept)
        mixed = values.new_empty((*queries.shape[:3], values.shape[-1]))  # N×H×T×d
        for some in _chunks(kept):
            weights = _softmax(queries[some], keys[some], hidden[some])
            mixed[some] = weights.mul_(kept[some]) @ values[some]
        return mixed.mul_(ctx.scale)

    @staticmethod
    @torch.amp.custom_bwd(device_type="cpu")
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        queries, keys, values, hidden, kept = ctx.saved_tensors
        of_queries, of_keys, of_values = (torch.empty_like(tensor) for tensor in (queries, keys, values))
        gradient = gradient * ctx.scale
        for some in _chunks(kept):
            weights = _softmax(queries[some], keys[some], hidden[some])
            dropped = weights * kept[some]
            of_values[some] = dropped.transpose(-2, -1) @ gradient[some]
            of_weights = dropped.mul_(gradient[some] @ values[some].transpose(-2, -1))
            of_scores = of_weights.sub_(weights.mul_(of_weights.sum(-1, keepdim=True)))
            of_queries[some] = of_scores @ keys[some]
            of_keys[some] = of_scores.transpose(-2, -1) @ queries[some]
        return of_queries, of_keys, of_values, None, None


def dropped_attention(queries: Tensor, keys: Tensor, values: Tensor, visible: Tensor, rate: float) -> Tensor:
    """dropout(softmax(q kᵀ)) v over the visible keys: N×H×T×d, N×H×L×d, N×H×L×d → N×H×T×d.

    Args:
        queries: they carry the scale.
        keys: of as many features as the queries.
        values: of any number of features.
        visible: bool that broadcasts to N×H×T×L; True where a query may see a key, once at least in each row.
        rate: probability in [0, 1) that a weight is dropped; those kept grow by 1 / (1 - rate).
    """
    visible = visible.expand(len(queries), *visible.shape[1:])
    mixed: Tensor = _DroppedAttention.apply(queries, keys, values, visible, rate)
    return mixed


def _softmax(queries: Tensor, keys: Tensor, hidden: Tensor) -> Tensor:
    return (queries @ keys.transpose(-2, -1)).add_(hidden).softmax(-1)


def _chunks(kept: Tensor) -> Iterator[slice]:
    """Slices of texts that hold CHUNK weights each, or one text."""
    step = max(1, CHUNK // max(1, kept[0].numel())) if len(kept) else 1
    return (slice(start, start + step) for start in range(0, len(kept), step))


def _random_levels(queries: Tensor, keys: Tensor) -> Tensor:
    """Integers N×H×T×L, each of the 16-bit ones as likely; four from one draw of 64 bits."""
    draws = queries.new_empty((*queries.shape[:3], -(-keys.shape[2] // 4)), dtype=torch.int64)
    return draws.random_(-(2**63), None).view(torch.int16)[..., : keys.shape[2]]

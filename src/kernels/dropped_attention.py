"""Dropout of attention weights on a CPU, where torch's fused kernels have none.

Torch falls back on holding all N×H×T×L weights, their mask and their gradients in memory. Here weights are made, used
and made again a few heads at a time, so that they stay in the processor's cache.
"""

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

from src.kernels.dropout import DropoutMask

CHUNK = 2**19  # weights at a time: 2 MB, what the second caches of two cores hold

Chunk = tuple[slice, slice]  # of texts and of heads


class _DroppedAttention(torch.autograd.Function):
    @staticmethod
    @torch.amp.custom_fwd(device_type="cpu", cast_inputs=torch.float32)
    def forward(ctx: Any, queries: Tensor, keys: Tensor, values: Tensor, visible: Tensor, rate: float) -> Tensor:
        queries, keys, values = queries.contiguous(), keys.contiguous(), values.contiguous()
        hidden = _hidden(visible, queries)
        shape = (*queries.shape[:3], keys.shape[2])  # N×H×T×L
        drawn = DropoutMask(rate)
        kept = torch.empty(shape, dtype=torch.uint8)
        mixed = values.new_empty((*shape[:3], values.shape[-1]))  # N×H×T×d
        for some in _chunks(shape):
            weights = _softmax(queries[some], keys[some], hidden, some)
            kept[some] = drawn.draw(*weights.shape)
            mixed[some] = weights.mul_(kept[some]) @ values[some]
        mixed *= drawn.scale
        ctx.scale = drawn.scale
        ctx.save_for_backward(queries, keys, values, hidden, kept, mixed)
        return mixed

    @staticmethod
    @torch.amp.custom_bwd(device_type="cpu")
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        queries, keys, values, hidden, kept, mixed = ctx.saved_tensors
        of_queries, of_keys, of_values = (torch.empty_like(tensor) for tensor in (queries, keys, values))
        common = (gradient * mixed).sum(-1, keepdim=True)  # N×H×T×1: what the softmax takes off a row's gradients
        gradient = (gradient * ctx.scale).contiguous()
        for some in _chunks(kept.shape):
            weights = _softmax(queries[some], keys[some], hidden, some)
            dropped = kept[some].to(weights.dtype).mul_(weights)  # bytes times floats take three times as long
            of_values[some] = dropped.transpose(-2, -1) @ gradient[some]
            of_scores = dropped.mul_(gradient[some] @ values[some].transpose(-2, -1))
            of_scores.addcmul_(weights, common[some], value=-1)
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
    mixed: Tensor = _DroppedAttention.apply(queries, keys, values, visible, rate)
    return mixed


def _hidden(visible: Tensor, queries: Tensor) -> Tensor | None:
    """What to add to the scores, 0 or -inf, which is faster than filling; None where every key is visible."""
    if visible.all():
        return None
    added = torch.where(visible, 0.0, -torch.inf).to(queries.dtype)
    return added.expand(*queries.shape[:2], *visible.shape[2:])


def _softmax(queries: Tensor, keys: Tensor, hidden: Tensor | None, some: Chunk) -> Tensor:
    scores = queries @ keys.transpose(-2, -1)
    if hidden is not None:
        scores += hidden[some]
    return scores.softmax(-1)


def _chunks(shape: tuple[int, ...]) -> Iterator[Chunk]:
    """Texts, or heads of one text, that have CHUNK weights together, or a single head."""
    texts, heads, rows, keys = shape
    at_once = max(1, CHUNK // max(1, rows * keys))  # heads
    if at_once < heads:
        for text in range(texts):
            yield from ((slice(text, text + 1), slice(head, head + at_once)) for head in range(0, heads, at_once))
    else:
        step = at_once // heads
        yield from ((slice(text, text + step), slice(None)) for text in range(0, texts, step))

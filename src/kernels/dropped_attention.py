"""Attention with dropout of its weights on a CPU, where torch's fused kernels do not support dropout.

Torch's fallback stores all N×H×T×L weights, their mask and their gradients in memory. This kernel computes the weights
of a few heads at a time, so that they fit into the processor's cache, and computes them again in the backward pass.
"""

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

from src.kernels.dropout import DropoutMask

CHUNK = 2**19  # number of weights computed together: 2 MB, the size of the second-level caches of two cores

Chunk = tuple[slice, slice]  # slices of texts and of heads


class _DroppedAttention(torch.autograd.Function):
    @staticmethod
    @torch.amp.custom_fwd(device_type="cpu", cast_inputs=torch.float32)
    def forward(ctx: Any, queries: Tensor, keys: Tensor, values: Tensor, visible: Tensor, rate: float) -> Tensor:
        queries, keys, values = queries.contiguous(), keys.contiguous(), values.contiguous()
        score_bias = _score_bias(visible, queries)
        shape = (*queries.shape[:3], keys.shape[2])  # N×H×T×L
        dropout_mask = DropoutMask(rate)
        keep_mask = torch.empty(shape, dtype=torch.uint8)
        mixed = values.new_empty((*shape[:3], values.shape[-1]))  # N×H×T×d
        for chunk in _chunks(shape):
            weights = _softmax(queries[chunk], keys[chunk], score_bias, chunk)
            keep_mask[chunk] = dropout_mask.draw(*weights.shape)
            mixed[chunk] = weights.mul_(keep_mask[chunk]) @ values[chunk]
        mixed *= dropout_mask.scale
        ctx.scale = dropout_mask.scale
        ctx.save_for_backward(queries, keys, values, score_bias, keep_mask, mixed)
        return mixed

    @staticmethod
    @torch.amp.custom_bwd(device_type="cpu")
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        queries, keys, values, score_bias, keep_mask, mixed = ctx.saved_tensors
        query_gradient, key_gradient, value_gradient = (torch.empty_like(tensor) for tensor in (queries, keys, values))
        # N×H×T×1: what the backward pass of softmax subtracts from the gradients of each row
        common = (gradient * mixed).sum(-1, keepdim=True)
        gradient = (gradient * ctx.scale).contiguous()
        for chunk in _chunks(keep_mask.shape):
            weights = _softmax(queries[chunk], keys[chunk], score_bias, chunk)
            # a product of bytes and floats takes three times as long
            dropped_weights = keep_mask[chunk].to(weights.dtype).mul_(weights)
            value_gradient[chunk] = dropped_weights.transpose(-2, -1) @ gradient[chunk]
            score_gradient = dropped_weights.mul_(gradient[chunk] @ values[chunk].transpose(-2, -1))
            score_gradient.addcmul_(weights, common[chunk], value=-1)
            query_gradient[chunk] = score_gradient @ keys[chunk]
            key_gradient[chunk] = score_gradient.transpose(-2, -1) @ queries[chunk]
        return query_gradient, key_gradient, value_gradient, None, None


def dropped_attention(queries: Tensor, keys: Tensor, values: Tensor, visible: Tensor, rate: float) -> Tensor:
    """Return dropout(softmax(q kᵀ)) v over the visible keys: N×H×T×d, N×H×L×d, N×H×L×d → N×H×T×d.

    Args:
        queries: queries, already multiplied by the scale of the scores.
        keys: keys with the same number of features as the queries.
        values: values with any number of features.
        visible: bool, broadcastable to N×H×T×L; True if the query may attend to the key. Each query must have at least
            one visible key.
        rate: probability in [0, 1) that a weight is dropped; the others are scaled by 1 / (1 - rate).
    """
    mixed: Tensor = _DroppedAttention.apply(queries, keys, values, visible, rate)
    return mixed


def _score_bias(visible: Tensor, queries: Tensor) -> Tensor | None:
    """Return the numbers to add to the scores: 0 for visible keys, -inf for others; None if every key is visible.

    An addition is faster than `masked_fill`.
    """
    if visible.all():
        return None
    bias = torch.where(visible, 0.0, -torch.inf).to(queries.dtype)
    return bias.expand(*queries.shape[:2], *visible.shape[2:])


def _softmax(queries: Tensor, keys: Tensor, score_bias: Tensor | None, chunk: Chunk) -> Tensor:
    scores = queries @ keys.transpose(-2, -1)
    if score_bias is not None:
        scores += score_bias[chunk]
    return scores.softmax(-1)


def _chunks(shape: tuple[int, ...]) -> Iterator[Chunk]:
    """Yield chunks, each with whole texts or with some heads of one text.

    A chunk has at most CHUNK weights, unless a single head has more.
    """
    texts, heads, rows, keys = shape
    heads_per_chunk = max(1, CHUNK // max(1, rows * keys))
    if heads_per_chunk < heads:
        for text in range(texts):
            yield from (
                (slice(text, text + 1), slice(head, head + heads_per_chunk))
                for head in range(0, heads, heads_per_chunk)
            )
    else:
        step = heads_per_chunk // heads
        yield from ((slice(text, text + step), slice(None)) for text in range(0, texts, step))

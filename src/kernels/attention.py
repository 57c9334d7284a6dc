"""Attention without stored weights, computed by torch's fused kernels or, for dropout on a CPU, in chunks.

Torch's fused CPU kernels do not support dropout. Torch's fallback stores all N×H×T×L weights, their mask and their
gradients. The kernel of this module computes the weights of a few heads at a time, so that they fit into the
processor's cache, and recomputes them in the backward pass.
"""

from collections.abc import Iterator
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from src.kernels.dropout import DropoutMask

CHUNK = 2**19  # maximum number of weights per chunk: 2 MB in float32, the size of two cores' second-level caches

Chunk = tuple[slice, slice]  # slices of texts and of heads


def fused_attention(queries: Tensor, keys: Tensor, values: Tensor, visible: Tensor, drop_rate: float) -> Tensor:
    """Return dropout(softmax(q kᵀ)) v over the visible keys of each query: N×H×T×d, N×H×L×d, N×H×L×v → N×H×T×v.

    The queries are already multiplied by the scale of the scores. The mask `visible` is broadcast to N×H×T×L. A query
    without visible keys, which would give NaN on some backends, attends to all keys; the caller must set its result to
    zero.
    """
    visible = visible | ~visible.any(-1, keepdim=True)
    if drop_rate and queries.device.type == "cpu" and not torch.compiler.is_compiling():
        output: Tensor = _DroppedAttention.apply(queries, keys, values, visible, drop_rate)
        return output
    return F.scaled_dot_product_attention(queries, keys, values, visible, drop_rate, scale=1.0)


class _DroppedAttention(torch.autograd.Function):
    @staticmethod
    @torch.amp.custom_fwd(device_type="cpu", cast_inputs=torch.float32)
    def forward(ctx: Any, queries: Tensor, keys: Tensor, values: Tensor, visible: Tensor, rate: float) -> Tensor:
        queries, keys, values = queries.contiguous(), keys.contiguous(), values.contiguous()
        score_bias = _score_bias(visible, queries)
        shape = (*queries.shape[:3], keys.shape[2])  # N×H×T×L
        dropout_mask = DropoutMask(rate)
        keep_mask = torch.empty(shape, dtype=torch.uint8)
        output = values.new_empty((*shape[:3], values.shape[-1]))  # N×H×T×v
        for chunk in _chunks(shape):
            weights = _softmax(queries[chunk], keys[chunk], score_bias, chunk)
            keep_mask[chunk] = dropout_mask.draw(*weights.shape)
            output[chunk] = weights.mul_(keep_mask[chunk]) @ values[chunk]
        output *= dropout_mask.scale
        ctx.scale = dropout_mask.scale
        ctx.save_for_backward(queries, keys, values, score_bias, keep_mask, output)
        return output

    @staticmethod
    @torch.amp.custom_bwd(device_type="cpu")
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        queries, keys, values, score_bias, keep_mask, output = ctx.saved_tensors
        query_gradient, key_gradient, value_gradient = (torch.empty_like(tensor) for tensor in (queries, keys, values))
        # N×H×T×1: the sum over a row of each weight times its gradient, which the backward pass of softmax subtracts
        row_sums = (gradient * output).sum(-1, keepdim=True)
        gradient = (gradient * ctx.scale).contiguous()
        for chunk in _chunks(keep_mask.shape):
            weights = _softmax(queries[chunk], keys[chunk], score_bias, chunk)
            # the bytes are converted first, because a product of bytes and floats takes three times as long
            dropped_weights = keep_mask[chunk].to(weights.dtype).mul_(weights)
            value_gradient[chunk] = dropped_weights.transpose(-2, -1) @ gradient[chunk]
            score_gradient = dropped_weights.mul_(gradient[chunk] @ values[chunk].transpose(-2, -1))
            score_gradient.addcmul_(weights, row_sums[chunk], value=-1)
            query_gradient[chunk] = score_gradient @ keys[chunk]
            key_gradient[chunk] = score_gradient.transpose(-2, -1) @ queries[chunk]
        return query_gradient, key_gradient, value_gradient, None, None


def _score_bias(visible: Tensor, queries: Tensor) -> Tensor | None:
    """Return a bias for the scores, 0 for visible keys and -inf for others, or None if all keys are visible.

    Adding a bias is faster than `masked_fill`.
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
    """Yield chunks of at most CHUNK weights N×H×T×L: all heads of some texts, or at least one head of a text."""
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

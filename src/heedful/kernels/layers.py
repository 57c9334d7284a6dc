"""Dropout, linear layers and attention, which are faster on a CPU than torch's; other devices use torch's."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch.nn import functional as F

LEVELS = 2**8  # number of possible values of a random byte
CHUNK = 2**19  # maximum number of weights per chunk: 2 MB in float32, the size of two cores' second-level caches

Chunk = tuple[slice, slice]  # slices of texts and of heads

# Dropout (Srivastava et al. 2014) from random bytes. Torch's dropout takes 7 to 14 ns per element.


class DropoutMask:
    """Draws random masks for dropout on a CPU; torch's generator provides the seed.

    An element is dropped if its random byte is below a threshold. In each row (last dimension), the threshold is
    rounded up or down at random, so that the probability of dropping equals `rate` to within 1/65,536. Rates above
    255/256 are reduced to 255/256.

    Attributes:
        scale: factor for the elements that are not dropped, 1 / (1 - rate) with the rate rounded to 1/65,536.
    """

    def __init__(self, rate: float) -> None:
        dropped = min(round(rate * LEVELS**2), (LEVELS - 1) * LEVELS)
        self.scale = LEVELS**2 / (LEVELS**2 - dropped)
        self._threshold, self._fraction = divmod(dropped, LEVELS)
        self._generator = np.random.SFC64(int(torch.randint(2**62, ())))  # takes half the time of torch's generator

    def draw(self, *shape: int) -> Tensor:
        """Return a mask of bytes, 0 for dropped elements and 1 for others; a bool mask would multiply more slowly."""
        thresholds = self._random_bytes(*shape[:-1], 1).lt_(self._fraction).add_(self._threshold)
        return self._random_bytes(*shape).ge_(thresholds)

    def _random_bytes(self, *shape: int) -> Tensor:
        count = int(np.prod(shape))
        return torch.from_numpy(self._generator.random_raw(-(-count // 8)).view(np.uint8)[:count]).view(shape)


def dropout(values: Tensor, rate: float) -> Tensor:
    """Set each element to zero with probability `rate` in [0, 1), and scale the others by 1 / (1 - rate)."""
    if not rate:
        return values
    if values.device.type != "cpu" or torch.compiler.is_compiling():  # a compiler cannot follow numpy's generator
        return F.dropout(values, rate)
    mask = DropoutMask(rate)
    return values * mask.draw(*values.shape) * mask.scale


class Dropout(nn.Module):
    """Applies the function `dropout` during training only."""

    def __init__(self, rate: float) -> None:
        super().__init__()
        self.rate = rate

    def forward(self, values: Tensor) -> Tensor:
        return dropout(values, self.rate) if self.training else values


# Matrix products by oneDNN. Torch calls MKL, which uses AVX-512 only on Intel's processors; on others, oneDNN is twice
# as fast.


class Linear(nn.Linear):
    """Torch's linear layer, computed by oneDNN in float32 on a CPU, during training and in inference mode."""

    def forward(self, inputs: Tensor) -> Tensor:
        # exporters need torch's own operation; they trace the model in evaluation mode, but not in inference mode
        is_used = torch.is_inference_mode_enabled() or (self.training and torch.is_grad_enabled())
        if not (is_used and _is_supported(inputs, self.weight)):
            return super().forward(inputs)
        outputs: Tensor = _Linear.apply(inputs.flatten(0, -2), self.weight, self.bias)
        return outputs.unflatten(0, inputs.shape[:-1])


def multiply(left: Tensor, right: Tensor, bias: Tensor | None = None) -> Tensor:
    """Return left @ right + bias: R×K, K×C, C → R×C. Call this function only where autograd is disabled."""
    if not _is_supported(left, right):
        return torch.addmm(bias, left, right) if bias is not None else left @ right
    return torch.ops.mkldnn._linear_pointwise(left, right.t(), bias, "none", [], "")


def multiply_transposed(gradient: Tensor, inputs: Tensor) -> Tensor:
    """Return gradientᵀ @ inputs, the gradient of a linear layer's weight: R×C, R×K → C×K."""
    return multiply(inputs.t(), gradient).t()  # in oneDNN, this order is faster than gradient.t() @ inputs


class _Linear(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, inputs: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        ctx.save_for_backward(inputs, weight)
        return multiply(inputs, weight.t(), bias)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        inputs, weight = ctx.saved_tensors
        gradient = gradient.contiguous()
        needs_inputs, needs_weight, needs_bias = ctx.needs_input_grad
        return (
            multiply(gradient, weight) if needs_inputs else None,
            multiply_transposed(gradient, inputs) if needs_weight else None,
            gradient.sum(0) if needs_bias else None,
        )


def _is_supported(*tensors: Tensor) -> bool:
    return (
        not torch.compiler.is_compiling()  # inductor cannot compile oneDNN's products
        and torch.backends.mkldnn.is_available()
        and bool(torch.backends.mkldnn.enabled)
        and not torch.is_autocast_enabled("cpu")
        and all(
            tensor.device.type == "cpu" and tensor.dtype == torch.float32 and tensor.numel() and tensor.dim() > 1
            for tensor in tensors
        )
    )


# Attention without stored weights. Torch's fused CPU kernels do not support dropout, and its fallback stores all
# N×H×T×L weights, their mask and their gradients. The kernel below computes the weights of a few heads at a time, so
# that they fit into the processor's cache, and recomputes them in the backward pass.


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
    """Return a bias for the scores, which is faster than `masked_fill`; None if all keys are visible."""
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

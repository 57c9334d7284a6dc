"""Matrix products by oneDNN on a CPU, for training and inference in float32.

Torch calls MKL, which uses AVX-512 only on Intel's processors. On other processors, oneDNN is twice as fast.
"""

from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable


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

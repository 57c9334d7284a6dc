"""Fast training of RNNs and GRUs on a CPU, where torch has a fast kernel only for LSTMs.

Torch records about ten operations per token, and updates the gradients of the weights at every token. Here, a token
takes two to seven operations in each pass, and the gradient of each weight is a single product over all tokens.
"""

from functools import cache
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from heedful.kernels.layers import multiply, multiply_transposed


def recurrent_states(rnn: nn.Module, inputs: Tensor) -> Tensor:
    """Return all states of a `batch_first` layer with zero initial state: N×L×D → N×L×H."""
    kernel = _KERNELS.get(type(rnn))
    is_used = rnn.training and torch.is_grad_enabled() and inputs.device.type == "cpu" and inputs.numel()
    uses_autocast = inputs.device.type == "cpu" and torch.is_autocast_enabled("cpu")
    if isinstance(rnn, nn.LSTM) and uses_autocast and not has_lstm(torch.get_autocast_dtype("cpu")):
        with torch.autocast("cpu", enabled=False):
            return rnn(inputs.float())[0]
    if kernel is None or not is_used or not _is_simple(rnn) or torch.compiler.is_compiling():
        return rnn(inputs)[0]
    states: Tensor = kernel.apply(inputs.transpose(0, 1), *rnn.parameters())
    return states.transpose(0, 1)


@cache
def has_lstm(dtype: torch.dtype) -> bool:
    """Return whether oneDNN has an LSTM of this type for this processor; without AVX-512, it has none in bfloat16."""
    try:
        with torch.no_grad(), torch.autocast("cpu", dtype):
            torch.nn.utils.skip_init(nn.LSTM, 1, 1)(torch.zeros(1, 1, 1))
    except RuntimeError:
        return False
    return True


def _is_simple(rnn: Any) -> bool:
    """Return whether a layer is what the kernels compute: one direction, one layer, with biases and tanh."""
    is_single = rnn.num_layers == 1 and not rnn.bidirectional and rnn.bias and rnn.batch_first
    return is_single and getattr(rnn, "nonlinearity", "tanh") == "tanh"


class _Rnn(torch.autograd.Function):
    """h_t = tanh(W_x x_t + b_x + W_h h_{t-1} + b_h).

    The states and their gradients are L×N×features; dh is the gradient of the loss with respect to h.
    """

    @staticmethod
    @torch.amp.custom_fwd(device_type="cpu", cast_inputs=torch.float32)
    def forward(
        ctx: Any, inputs: Tensor, input_weight: Tensor, weight: Tensor, input_bias: Tensor, bias: Tensor
    ) -> Tensor:
        inputs = inputs.contiguous()
        states = _project(inputs, input_weight.t(), input_bias + bias)
        previous = None
        transposed = weight.t()
        for state in states.unbind():
            if previous is not None:
                state.addmm_(previous, transposed)
            previous = state.tanh_()
        ctx.save_for_backward(inputs, input_weight, weight, states)
        return states

    @staticmethod
    @torch.amp.custom_bwd(device_type="cpu")
    @once_differentiable
    def backward(ctx: Any, dh: Tensor) -> tuple[Tensor | None, ...]:
        inputs, input_weight, weight, states = ctx.saved_tensors
        slopes = (1 - states * states).unbind()
        d_sums = dh.clone(memory_format=torch.contiguous_format)  # the loop turns dh into gradients of tanh's arguments
        d_sum_t = d_sums.unbind()
        d_sum_t[-1].mul_(slopes[-1])
        for t in range(len(d_sum_t) - 2, -1, -1):
            d_sum_t[t].addmm_(d_sum_t[t + 1], weight).mul_(slopes[t])
        d_weight = _weight_gradient(d_sums[1:], states[:-1])
        d_bias = d_sums.sum((0, 1))
        d_input_weight = _weight_gradient(d_sums, inputs)
        return _project(d_sums, input_weight), d_input_weight, d_weight, d_bias, d_bias


class _Gru(torch.autograd.Function):
    """h_t = (1 - z) n + z h_{t-1} with n = tanh(W_n x_t + b_n + r a), a = W_a h_{t-1} + b_a.

    The gates r and z are sigmoids of W_x x_t + b_x + W_h h_{t-1} + b_h. States and gates are L×N×features. dh and da
    are the gradients of the loss with respect to h and a; dr, dz and dn are the gradients with respect to the arguments
    of the sigmoids and of tanh.
    """

    @staticmethod
    @torch.amp.custom_fwd(device_type="cpu", cast_inputs=torch.float32)
    def forward(
        ctx: Any, inputs: Tensor, input_weight: Tensor, weight: Tensor, input_bias: Tensor, bias: Tensor
    ) -> Tensor:
        inputs = inputs.contiguous()
        length, texts = inputs.shape[:2]
        size = weight.shape[1]
        gates = _project(inputs, input_weight.t(), input_bias + nn.functional.pad(bias[: 2 * size], (0, size)))
        h, a = gates.new_empty(2, length, texts, size)
        products = gates.new_empty(texts, 3 * size)  # W_h h_{t-1} and W_a h_{t-1} of the current token
        rz_products, a_products = products.split([2 * size, size], 1)
        a_bias, transposed = bias[2 * size :], weight.t()
        previous = gates.new_zeros(texts, size)
        slices = (tensor.unbind() for tensor in (h, a, gates[..., : 2 * size], *gates.chunk(3, -1)))
        for h_t, a_t, rz_t, r_t, z_t, n_t in zip(*slices, strict=True):
            torch.mm(previous, transposed, out=products)
            rz_t.add_(rz_products).sigmoid_()
            torch.add(a_products, a_bias, out=a_t)
            n_t.addcmul_(r_t, a_t).tanh_()
            previous = torch.lerp(n_t, previous, z_t, out=h_t)
        ctx.save_for_backward(inputs, input_weight, weight, gates, a, h)
        return h

    @staticmethod
    @torch.amp.custom_bwd(device_type="cpu")
    @once_differentiable
    def backward(ctx: Any, dh: Tensor) -> tuple[Tensor | None, ...]:
        inputs, input_weight, weight, gates, a, h = ctx.saved_tensors
        r, z, n = gates.chunk(3, -1)
        n_slope = (1 - n * n).mul_(1 - z)  # dn / dh
        d_gates = _gate_factors(r, z, n, a, h, n_slope)  # L×N×3H; the loop multiplies by dh, which gives dr, dz and da
        dh = dh.clone(memory_format=torch.contiguous_format)
        dh_t, z_t, d_gates_t = dh.unbind(), z.unbind(), d_gates.unbind()
        d_parts_t = d_gates.unflatten(-1, (3, -1)).unbind()  # N×3×H each
        for t in range(len(dh_t) - 1, -1, -1):
            d_parts_t[t].mul_(dh_t[t].unsqueeze(1))
            if t:
                dh_t[t - 1].addcmul_(dh_t[t], z_t[t]).addmm_(d_gates_t[t], weight)
        d_weight = _weight_gradient(d_gates[1:], h[:-1])
        d_bias = d_gates.sum((0, 1))
        size = h.shape[-1]
        dn = torch.mul(dh, n_slope, out=d_gates[..., 2 * size :])  # replaces da; the gradients of W_n and b_n use dn
        d_input_bias = torch.cat([d_bias[: 2 * size], dn.sum((0, 1))])
        d_input_weight = _weight_gradient(d_gates, inputs)
        return _project(d_gates, input_weight), d_input_weight, d_weight, d_input_bias, d_bias


def _gate_factors(r: Tensor, z: Tensor, n: Tensor, a: Tensor, h: Tensor, n_slope: Tensor) -> Tensor:
    """Return dr, dz and da for dh = 1, side by side: L×N×3H. Every argument is L×N×H."""
    factors = h.new_empty(*h.shape[:2], 3 * h.shape[2])
    dr, dz, da = factors.chunk(3, -1)
    torch.mul(n_slope, r, out=da)  # (1-z) (1-n²) r
    torch.mul(da, a, out=dr).mul_(1 - r)  # (1-z) (1-n²) r a (1-r)
    # (h_{t-1}-n) z (1-z); the state before the first token is zero
    torch.sub(h[:-1], n[1:], out=dz[1:])
    torch.neg(n[0], out=dz[0])
    dz.mul_(z).mul_(1 - z)
    return factors


def _project(states: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """Return states @ weight + bias: L×N×D, D×G, G → L×N×G."""
    return multiply(states.flatten(0, 1), weight, bias).unflatten(0, states.shape[:2])


def _weight_gradient(gradient: Tensor, inputs: Tensor) -> Tensor:
    """Return the gradient of the weight in inputs @ weightᵀ, given that of the product: L×N×G, L×N×D → G×D."""
    return multiply_transposed(gradient.flatten(0, 1), inputs.flatten(0, 1))


_KERNELS: dict[type[nn.Module], type[torch.autograd.Function]] = {nn.RNN: _Rnn, nn.GRU: _Gru}

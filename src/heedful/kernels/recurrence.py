"""Fast training of RNNs and GRUs on a CPU, where torch has a fast kernel only for LSTMs.

Torch records about ten operations per token, and updates the gradients of the weights at every token. Here, a token
takes two to seven operations in each pass, and the gradient of each weight is a single product over all tokens.
"""

from collections.abc import Sequence
from functools import cache
from itertools import chain
from math import prod
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from heedful.kernels.layers import multiply, multiply_transposed

SMALL = 2**15  # elements of an operation below which torch uses one thread, and takes less time than to call it


def bidirectional_states(rnns: Sequence[nn.Module], states: Tensor, mask: Tensor) -> Tensor:
    """Return all states of two `batch_first` layers with zero initial state, side by side: N×L×D, N×L → N×L×2H.

    The second layer reads the real tokens of each text in reverse order. Padding must be at the end of each row.
    """
    lengths, steps = mask.sum(1, keepdim=True), torch.arange(mask.shape[1], device=mask.device)  # N×1, L
    rows = torch.arange(mask.shape[0], device=mask.device).unsqueeze(1) * mask.shape[1]  # N×1
    order = (rows + torch.where(mask, lengths - 1 - steps, steps)).flatten()  # a second reversal restores the states

    def reverse(states: Tensor) -> Tensor:
        """Reorder whole rows, because torch gathers and scatters single features slowly."""
        return states.flatten(0, 1).index_select(0, order).view_as(states)

    first: Any = rnns[0]
    if all(_kernel(rnn, states) is _Gru for rnn in rnns) and 2 * len(states) * len(first.weight_hh_l0) < SMALL:
        # in this order, so that gradients are added to those of the states as if the layers followed each other
        inputs = [states.transpose(0, 1), reverse(states).transpose(0, 1)]
        groups = [(part, *rnn.parameters()) for part, rnn in zip(inputs, rnns, strict=True)]
        forward, backward = (part.transpose(0, 1) for part in _Gru.apply(*chain(*groups)))
    else:
        forward = recurrent_states(rnns[0], states)
        backward = recurrent_states(rnns[1], reverse(states))
    return torch.cat([forward, reverse(backward)], -1)


def recurrent_states(rnn: nn.Module, inputs: Tensor) -> Tensor:
    """Return all states of a `batch_first` layer with zero initial state: N×L×D → N×L×H."""
    kernel = _kernel(rnn, inputs)
    if kernel is not None:
        states: Any = kernel.apply(inputs.transpose(0, 1), *rnn.parameters())
        return (states[0] if isinstance(states, tuple) else states).transpose(0, 1)
    uses_autocast = inputs.device.type == "cpu" and torch.is_autocast_enabled("cpu")
    if isinstance(rnn, nn.LSTM) and uses_autocast and not has_lstm(torch.get_autocast_dtype("cpu")):
        with torch.autocast("cpu", enabled=False):
            return rnn(inputs.float())[0]
    return rnn(inputs)[0]


def _kernel(rnn: nn.Module, inputs: Tensor) -> type[torch.autograd.Function] | None:
    """Return the kernel of a layer in training; None if torch's layer is used."""
    is_used = rnn.training and torch.is_grad_enabled() and inputs.device.type == "cpu" and inputs.numel()
    kernel = _KERNELS.get(type(rnn))
    return kernel if kernel and is_used and _is_simple(rnn) and not torch.compiler.is_compiling() else None


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

    The gates r and z are sigmoids of W_x x_t + b_x + W_h h_{t-1} + b_h. dh and da are the gradients of the loss with
    respect to h and a; dr, dz and dn are the gradients with respect to the arguments of the sigmoids and of tanh.

    The arguments are the inputs L×N×D and the parameters of a layer, then those of the next one, S times. What is not a
    product is computed for all layers at once: their states and gates are S×L×N×features.
    """

    @staticmethod
    @torch.amp.custom_fwd(device_type="cpu", cast_inputs=torch.float32)
    def forward(ctx: Any, *arguments: Tensor) -> tuple[Tensor, ...]:
        layers = [(part[0].contiguous(), *part[1:]) for part in _divide(arguments, 5)]
        (length, texts, _), size = layers[0][0].shape, layers[0][2].shape[1]
        gates, h, a = (_blocks(arguments[0], len(layers), length, texts, width * size) for width in (3, 1, 1))
        for of_layer, (inputs, input_weight, _, input_bias, bias) in zip(gates, layers, strict=True):
            gate_bias = input_bias + nn.functional.pad(bias[: 2 * size], (0, size))
            of_layer.copy_(_project(inputs, input_weight.t(), gate_bias))
        products = _blocks(gates, len(layers), texts, 3 * size)  # W_h h_{t-1} and W_a h_{t-1} of the current token
        rz_products, a_products = products.split([2 * size, size], -1)
        a_bias = torch.stack([bias[2 * size :] for *_, bias in layers]).unsqueeze(1)  # S×1×H
        transposed, products_of = [weight.t() for _, _, weight, _, _ in layers], products.unbind()
        previous = _blocks(gates, len(layers), texts, size).zero_()
        previous_of = previous.unbind()
        slices = (tensor.unbind(1) for tensor in (h, a, gates[..., : 2 * size], *gates.chunk(3, -1)))
        h_of = zip(*(of_layer.unbind() for of_layer in h.unbind()), strict=True)
        for h_t, a_t, rz_t, r_t, z_t, n_t, h_of_t in zip(*slices, h_of, strict=True):
            for state, weight, product in zip(previous_of, transposed, products_of, strict=True):
                torch.mm(state, weight, out=product)
            rz_t.add_(rz_products).sigmoid_()
            torch.add(a_products, a_bias, out=a_t)
            n_t.addcmul_(r_t, a_t).tanh_()
            previous, previous_of = torch.lerp(n_t, previous, z_t, out=h_t), h_of_t
        ctx.save_for_backward(*chain(*((inputs, *weights) for inputs, *weights, _, _ in layers)), gates, a, h)
        return h.unbind()

    @staticmethod
    @torch.amp.custom_bwd(device_type="cpu")
    @once_differentiable
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        *tensors, gates, a, h = ctx.saved_tensors
        layers = _divide(tensors, 3)
        r, z, n = gates.chunk(3, -1)
        n_slope = (1 - n * n).mul_(1 - z)  # dn / dh
        d_gates = _gate_factors(r, z, n, a, h, n_slope)  # S×L×N×3H; the loop multiplies by dh, which gives dr, dz, da
        dh = torch.stack(gradients, out=_blocks(h, *h.shape))
        dh_t, z_t = dh.unbind(1), z.unbind(1)
        d_parts_t = d_gates.unflatten(-1, (3, -1)).unbind(1)  # S×N×3×H each
        slices = [
            (dh_of.unbind(), part.unbind(), weight)
            for dh_of, part, (_, _, weight) in zip(dh, d_gates, layers, strict=True)
        ]
        for t in range(len(dh_t) - 1, -1, -1):
            d_parts_t[t].mul_(dh_t[t].unsqueeze(2))
            if t:
                dh_t[t - 1].addcmul_(dh_t[t], z_t[t])
                for dh_of_t, d_gates_t, weight in slices:
                    dh_of_t[t - 1].addmm_(d_gates_t[t], weight)
        found, size = list[Tensor](), h.shape[-1]
        for part, h_of, dh_of, slope, (inputs, input_weight, _) in zip(d_gates, h, dh, n_slope, layers, strict=True):
            d_weight = _weight_gradient(part[1:], h_of[:-1])
            d_bias = part.sum((0, 1))
            dn = torch.mul(dh_of, slope, out=part[..., 2 * size :])  # replaces da; W_n and b_n use dn
            d_input_bias = torch.cat([d_bias[: 2 * size], dn.sum((0, 1))])
            found += [_project(part, input_weight), _weight_gradient(part, inputs), d_weight, d_input_bias, d_bias]
        return tuple(found)


def _blocks(like: Tensor, layers: int, *shape: int) -> Tensor:
    """Return memory for a tensor of each layer, aligned as a single one, on which the last bit of a product depends."""
    size = prod(shape)
    return like.new_empty(layers, -(-size // 16) * 16)[:, :size].unflatten(1, shape)


def _divide(values: Sequence[Tensor], size: int) -> list[Sequence[Tensor]]:
    return [values[start : start + size] for start in range(0, len(values), size)]


def _gate_factors(r: Tensor, z: Tensor, n: Tensor, a: Tensor, h: Tensor, n_slope: Tensor) -> Tensor:
    """Return dr, dz and da for dh = 1, side by side: S×L×N×3H. Every argument is S×L×N×H."""
    factors = _blocks(h, *h.shape[:-1], 3 * h.shape[-1])
    dr, dz, da = factors.chunk(3, -1)
    torch.mul(n_slope, r, out=da)  # (1-z) (1-n²) r
    torch.mul(da, a, out=dr).mul_(1 - r)  # (1-z) (1-n²) r a (1-r)
    # (h_{t-1}-n) z (1-z); the state before the first token is zero
    torch.sub(h[:, :-1], n[:, 1:], out=dz[:, 1:])
    torch.neg(n[:, 0], out=dz[:, 0])
    dz.mul_(z).mul_(1 - z)
    return factors


def _project(states: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """Return states @ weight + bias: L×N×D, D×G, G → L×N×G."""
    return multiply(states.flatten(0, 1), weight, bias).unflatten(0, states.shape[:2])


def _weight_gradient(gradient: Tensor, inputs: Tensor) -> Tensor:
    """Return the gradient of the weight in inputs @ weightᵀ, given that of the product: L×N×G, L×N×D → G×D."""
    return multiply_transposed(gradient.flatten(0, 1), inputs.flatten(0, 1))


_KERNELS: dict[type[nn.Module], type[torch.autograd.Function]] = {nn.RNN: _Rnn, nn.GRU: _Gru}

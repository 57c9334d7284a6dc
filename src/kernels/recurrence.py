"""Fast training of RNNs and GRUs on a CPU, where torch has a fast kernel only for LSTMs.

Torch records about ten operations for every token, and adds to the gradients of the weights at every token. Here each
token takes two operations in either pass (RNN), or seven in the forward and three in the backward pass (GRU). The
gradient of each weight is a single matrix product over all tokens.
"""

from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from src.kernels.linear import multiply, multiply_transposed


def recurrent_states(rnn: nn.Module, inputs: Tensor) -> Tensor:
    """Return all states of a unidirectional `batch_first` layer from a zero initial state: N×L×D → N×L×H."""
    kernel = _KERNELS.get(type(rnn))
    is_trained = rnn.training and torch.is_grad_enabled()
    if kernel is None or not is_trained or inputs.device.type != "cpu" or not inputs.numel():
        return rnn(inputs)[0]
    states: Tensor = kernel.apply(inputs.transpose(0, 1), *rnn.parameters())
    return states.transpose(0, 1)


class _Rnn(torch.autograd.Function):
    """h_t = tanh(W_x x_t + b_x + W_h h_{t-1} + b_h); all tensors L×N×features."""

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
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        inputs, input_weight, weight, states = ctx.saved_tensors
        slopes = (1 - states * states).unbind()
        gradient = gradient.clone(memory_format=torch.contiguous_format)
        steps = gradient.unbind()  # become the gradients of the arguments of tanh
        steps[-1].mul_(slopes[-1])
        for step in range(len(steps) - 2, -1, -1):
            steps[step].addmm_(steps[step + 1], weight).mul_(slopes[step])
        weight_gradient = _weight_gradient(gradient[1:], states[:-1])
        bias_gradient = gradient.sum((0, 1))
        input_weight_gradient = _weight_gradient(gradient, inputs)
        return _project(gradient, input_weight), input_weight_gradient, weight_gradient, bias_gradient, bias_gradient


class _Gru(torch.autograd.Function):
    """h_t = (1 - z) n + z h_{t-1} with n = tanh(W_n x_t + b_n + r a), a = W_a h_{t-1} + b_a.

    r and z are the sigmoids of W_x x_t + b_x + W_h h_{t-1} + b_h. All tensors are L×N×features.
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
        states, added = gates.new_empty(2, length, texts, size)
        products = gates.new_empty(texts, 3 * size)  # W_h h_{t-1} of the current token
        both_products, candidate_products = products.split([2 * size, size], 1)
        candidate_bias, transposed = bias[2 * size :], weight.t()
        previous = gates.new_zeros(texts, size)
        slices = (part.unbind() for part in (states, added, gates[..., : 2 * size], *gates.chunk(3, -1)))
        for state, term, both, reset, update, candidate in zip(*slices, strict=True):
            torch.mm(previous, transposed, out=products)
            both.add_(both_products).sigmoid_()
            torch.add(candidate_products, candidate_bias, out=term)
            candidate.addcmul_(reset, term).tanh_()
            previous = torch.lerp(candidate, previous, update, out=state)
        ctx.save_for_backward(inputs, input_weight, weight, gates, added, states)
        return states

    @staticmethod
    @torch.amp.custom_bwd(device_type="cpu")
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        inputs, input_weight, weight, gates, added, states = ctx.saved_tensors
        reset, update, candidate = gates.chunk(3, -1)
        slope = (1 - candidate * candidate).mul_(1 - update)  # ∂h_t / ∂(argument of tanh)
        # L×N×3H: gradients dr', dz' of the sigmoids' arguments, and da; the loop multiplies them by the factor dh
        gradients = torch.empty_like(gates)
        reset_gradients, update_gradients, candidate_gradients = gradients.chunk(3, -1)
        # da = dh·(1-z)(1-n²)·r, dr' = dh·(1-z)(1-n²)·a·r(1-r)
        torch.mul(slope, reset, out=candidate_gradients)
        torch.mul(candidate_gradients, added, out=reset_gradients).mul_(1 - reset)
        # dz' = dh·(h_{t-1}-n)·z(1-z); the state before the first token is zero
        torch.sub(states[:-1], candidate[1:], out=update_gradients[1:])
        torch.neg(candidate[0], out=update_gradients[0])
        update_gradients.mul_(update).mul_(1 - update)
        gradient = gradient.clone(memory_format=torch.contiguous_format)
        steps, updates, gate_steps = gradient.unbind(), update.unbind(), gradients.unbind()
        part_steps = gradients.unflatten(-1, (3, -1)).unbind()
        for step in range(len(steps) - 1, -1, -1):
            part_steps[step].mul_(steps[step].unsqueeze(1))
            if step:
                steps[step - 1].addcmul_(steps[step], updates[step]).addmm_(gate_steps[step], weight)
        weight_gradient = _weight_gradient(gradients[1:], states[:-1])
        bias_gradient = gradients.sum((0, 1))
        torch.mul(gradient, slope, out=candidate_gradients)
        input_bias_gradient = torch.cat([bias_gradient[: -slope.shape[-1]], candidate_gradients.sum((0, 1))])
        input_weight_gradient = _weight_gradient(gradients, inputs)
        return (
            _project(gradients, input_weight),
            input_weight_gradient,
            weight_gradient,
            input_bias_gradient,
            bias_gradient,
        )


def _project(states: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """Return states @ weight + bias: L×N×D, D×G, G → L×N×G."""
    return multiply(states.flatten(0, 1), weight, bias).unflatten(0, states.shape[:2])


def _weight_gradient(gradient: Tensor, inputs: Tensor) -> Tensor:
    """Return the gradient of a weight, from the gradient of its products and their inputs: L×N×G, L×N×D → G×D."""
    return multiply_transposed(gradient.flatten(0, 1), inputs.flatten(0, 1))


_KERNELS: dict[type[nn.Module], type[torch.autograd.Function]] = {nn.RNN: _Rnn, nn.GRU: _Gru}

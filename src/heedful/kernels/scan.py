"""Linear recurrences as parallel scans: a number of operations that grows as the logarithm of the length of a text."""

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

TRACED_LENGTH = 2**16  # greatest length of a text in an exported or compiled model


def linear_recurrence(decays: Tensor, inputs: Tensor) -> Tensor:
    """Return h_t = a_t h_{t-1} + b_t with h_0 = 0 for decays a and inputs b, N×L×D each → N×L×D.

    With decays from 0 to 1, no step divides or subtracts, so that no precision is lost, as it is in log space.
    """
    if torch.compiler.is_compiling() or torch.onnx.is_in_onnx_export():
        return _scan_any_length(decays, inputs)
    states: Tensor = _LinearRecurrence.apply(decays, inputs)
    return states


class _LinearRecurrence(torch.autograd.Function):
    """The gradient g of the loss with respect to b is a recurrence from the end: g_t = a_{t+1} g_{t+1} + dh_t."""

    @staticmethod
    def forward(ctx: Any, decays: Tensor, inputs: Tensor) -> Tensor:
        states = _scan(decays, inputs)
        ctx.save_for_backward(decays, states)
        return states

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, d_states: Tensor) -> tuple[Tensor, Tensor]:
        decays, states = ctx.saved_tensors
        d_inputs = _scan(decays.roll(-1, 1).flip(1), d_states.flip(1)).flip(1)  # the first decay has no effect
        d_decays = torch.zeros_like(states)
        torch.mul(d_inputs[:, 1:], states[:, :-1], out=d_decays[:, 1:])
        return d_decays, d_inputs


def _scan(decays: Tensor, inputs: Tensor) -> Tensor:
    """Halve the length by joining pairs of tokens, scan the rest, and fill the gaps (Blelloch 1990), in O(L)."""
    length = inputs.shape[1]
    if length < 2:
        return inputs
    first, second = slice(0, length - 1, 2), slice(1, None, 2)  # of each pair
    joined = torch.addcmul(inputs[:, second], decays[:, second], inputs[:, first])
    states = torch.empty_like(inputs)
    states[:, second] = after_pairs = _scan(decays[:, first] * decays[:, second], joined)
    states[:, 0] = inputs[:, 0]
    gaps = slice(2, None, 2)
    torch.addcmul(inputs[:, gaps], decays[:, gaps], after_pairs[:, : (length - 1) // 2], out=states[:, gaps])
    return states


def _scan_any_length(decays: Tensor, states: Tensor) -> Tensor:
    """Do the same in a fixed number of operations: after step s, a state has read 2ˢ tokens (Hillis & Steele 1986)."""
    steps = torch.arange(states.shape[1], device=states.device)
    shift = 1
    while shift < TRACED_LENGTH:
        earlier = (steps - shift).clamp(min=0)
        exists = (steps >= shift).to(states.dtype)[:, None]
        states = states + decays * states.index_select(1, earlier) * exists
        decays = decays * decays.index_select(1, earlier) * exists
        shift *= 2
    return states

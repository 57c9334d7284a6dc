"""Recurrent encoders: RNN, LSTM, GRU and minGRU, unidirectional or bidirectional, without packed sequences."""

from collections.abc import Callable
from typing import Literal

import torch
from torch import Tensor, nn

from heedful.kernels.layers import Dropout, Linear
from heedful.kernels.recurrence import bidirectional_states, recurrent_states
from heedful.kernels.scan import linear_recurrence
from heedful.models.component import Encoded, Encoder, Layers, Rate, Size, state_at, zero_padding


class MinGru(nn.Module):
    """h_t = (1 − z_t) ∘ h_{t−1} + z_t ∘ h̃_t with z_t = σ(W_z x_t + b_z) and h̃_t = W_h x_t + b_h.

    Neither the gate z nor the candidate h̃ reads the previous state, so that all states are computed at once (Feng et
    al. 2024, arXiv 2410.01201, section 3.1), in float32 also in mixed precision.
    """

    def __init__(self, input_dim: int, hidden_dim: int, *, batch_first: bool) -> None:
        super().__init__()
        self.projection = Linear(input_dim, 2 * hidden_dim)  # gate, candidate

    def forward(self, inputs: Tensor) -> tuple[Tensor, None]:
        """Return all states with zero initial state, N×L×D → N×L×H, as the first item, as torch's layers do."""
        projected = self.projection(inputs)
        gate, candidate = projected.to(torch.promote_types(projected.dtype, torch.float32)).chunk(2, -1)
        states = linear_recurrence((-gate).sigmoid(), gate.sigmoid() * candidate)
        return states.to(projected.dtype), None


CELLS: dict[str, Callable[..., nn.Module]] = {"rnn": nn.RNN, "lstm": nn.LSTM, "gru": nn.GRU, "mingru": MinGru}


class Recurrent(Encoder):
    """A stack of recurrent layers (Elman 1990; Hochreiter & Schmidhuber 1997; Cho et al. 2014; Feng et al. 2024).

    Padding must be at the end of each row, so that a forward layer reads the whole text before any padding. A backward
    layer reads the real tokens of each row in reverse order. The states equal those of packed sequences, which use
    slower kernels. Each direction has `hidden_dim` features, and each layer reads both directions
    of the previous layer (Schuster & Paliwal 1997). Dropout follows every layer, including the last.
    """

    def __init__(
        self,
        input_dim: int,
        *,
        cell: Literal["rnn", "lstm", "gru", "mingru"] = "lstm",
        hidden_dim: Size = 128,
        layers: Layers = 1,
        bidirectional: bool = False,
        dropout: Rate = 0.0,
    ) -> None:
        super().__init__(hidden_dim * (2 if bidirectional else 1))
        input_dims = [input_dim] + [self.output_dim] * (layers - 1)
        self.forwards = nn.ModuleList(CELLS[cell](dim, hidden_dim, batch_first=True) for dim in input_dims)
        self.backwards = nn.ModuleList(
            CELLS[cell](dim, hidden_dim, batch_first=True) for dim in (input_dims if bidirectional else [])
        )
        self.dropout = Dropout(dropout)

    def forward(self, states: Tensor, mask: Tensor) -> Encoded:
        """Encode texts: N×L×D → N×L×output_dim.

        The summary consists of the last state that each direction of the top layer computes: the forward state of the
        last token and the backward state of the first token.
        """
        for layer, rnn in enumerate(self.forwards):
            if self.backwards:
                output = bidirectional_states([rnn, self.backwards[layer]], states, mask)
            else:
                output = recurrent_states(rnn, states)
            states = zero_padding(self.dropout(output), mask)
        if not self.backwards:
            return Encoded(states, mask, state_at(states, mask, last=True))
        forward_states, backward_states = states.chunk(2, -1)
        ends = [state_at(forward_states, mask, last=True), state_at(backward_states, mask, last=False)]
        return Encoded(states, mask, torch.cat(ends, -1))

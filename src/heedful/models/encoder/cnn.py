"""The convolutional encoder of Kim (2014)."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from heedful.kernels.layers import Dropout
from heedful.models.component import Encoded, Encoder, Rate, Size, masked_max, zero_padding


class Cnn(Encoder):
    """c_i = ReLU(w · [x_i−l … x_i+r] + b) for each filter w of h = l + 1 + r tokens (Kim 2014, eq. 2).

    The state of token i consists of the c_i of all filters of all widths h, with l = (h − 1) // 2. Unlike in the paper,
    there is a value for each token: outside the text, x is zero. The summary is the maximum of each filter over the
    tokens, the ĉ of the paper, which `model/attention=none` with `model/pooling=last` passes to the head.
    """

    def __init__(
        self, input_dim: int, *, widths: Sequence[Size] = (3, 4, 5), filters: Size = 100, dropout: Rate = 0.0
    ) -> None:
        super().__init__(len(widths) * filters)
        if not widths:
            raise ValueError("widths=[] must name at least one number of tokens")
        self.convolutions = nn.ModuleList(nn.Conv1d(input_dim, filters, width) for width in widths)
        self.ends = [((width - 1) // 2, width // 2) for width in widths]  # zeros before and after the text
        self.dropout = Dropout(dropout)

    def forward(self, states: Tensor, mask: Tensor) -> Encoded:
        """Encode texts: N×L×D → N×L×(widths · filters)."""
        inputs = zero_padding(states, mask).transpose(1, 2)  # N×D×L
        layers = zip(self.convolutions, self.ends, strict=True)
        values = torch.cat([convolution(F.pad(inputs, ends)) for convolution, ends in layers], 1)
        states = zero_padding(self.dropout(values.transpose(1, 2).relu()), mask)
        return Encoded(states, mask, masked_max(states, mask))

"""Structured self-attention: several rows of weights for a text, which a penalty keeps apart (Lin et al. 2017)."""

from typing import Annotated

import torch
from pydantic import Field
from torch import Tensor, nn

from heedful.kernels.layers import Dropout, Linear
from heedful.models.component import Attention, Encoded, Rate, Size


class StructuredAttention(Attention):
    """A = softmax(W_s2 tanh(W_s1 Hᵀ)) with r rows; the output is M = A H, whose r rows are concatenated (eqs. 6 and 7).

    W_s1 is A×D and W_s2 is r×A; neither has a bias. Each row is a head. In training, `penalty` times the mean of
    P = ‖A Aᵀ − I‖² (eq. 8, Frobenius norm) over the texts is added to the loss, and logged as train/penalty. P is
    0 if each row has the weight 1 on a token of its own.
    """

    has_scores = True

    def __init__(
        self,
        input_dim: int,
        *,
        rows: Size = 8,
        attention_dim: Size | None = None,
        penalty: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 0.1,
        dropout: Rate = 0.0,
    ) -> None:
        super().__init__(rows * input_dim)
        self.hidden = Linear(input_dim, attention_dim or input_dim, bias=False)
        self.questions = nn.Linear(attention_dim or input_dim, rows, bias=False)
        self.penalty = penalty
        if penalty:
            self.auxiliary_loss = {"penalty": None}
        self.dropout = Dropout(dropout)

    def weights(self, encoded: Encoded) -> Tensor:
        """Return the weights N×r×1×T."""
        scores = self.questions(torch.tanh(self.hidden(encoded.states))).transpose(1, 2)  # N×r×T
        return self.normalize(scores, encoded.mask.unsqueeze(1)).unsqueeze(2)

    def mix(self, encoded: Encoded, weights: Tensor) -> Encoded:
        """Return M as a sequence of one state of r·D features: N×T×D, N×r×1×T → N×1×rD."""
        context = (weights.squeeze(2) @ encoded.states).flatten(1)  # N×rD
        return Encoded(context.unsqueeze(1), encoded.mask.any(1, keepdim=True), context)

    def forward(self, encoded: Encoded) -> Encoded:
        weights = self.weights(encoded)
        if self.training and self.penalty:
            rows = weights.squeeze(2)  # N×r×T
            real = encoded.mask.any(1)[:, None, None]  # a text without tokens has P = 0
            difference = rows @ rows.transpose(1, 2) - real * torch.eye(rows.shape[1], device=rows.device)
            self.auxiliary_loss = {"penalty": self.penalty * difference.float().square().sum((1, 2)).mean()}
        return self.mix(encoded, self.dropout(weights))

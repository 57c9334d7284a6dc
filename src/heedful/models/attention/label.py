"""Label-wise attention: each class reads the text with a query of its own (Mullenbach et al. 2018)."""

from collections.abc import Sequence
from typing import ClassVar

import torch
from torch import Tensor, nn

from heedful.kernels.layers import Dropout
from heedful.models.component import Attention, Encoded, Rate


class LabelAttention(Attention):
    """v_c = Σ_i α_ci h_i with α_c = softmax(H u_c) and a learned query u_c for each class (eqs. 2 and 3).

    Head c of the weights belongs to logit c; with loss=binary, there is one. The output is one state, in which feature
    j of v_c is in column jC + c. The queries are initialized with zeros, so the initial weights are uniform.
    """

    targets: ClassVar[tuple[str, ...]] = ("one class", "many labels")  # that each text has
    has_scores = True

    def __init__(self, input_dim: int, *, dropout: Rate = 0.0) -> None:
        super().__init__(input_dim)
        self.dropout = Dropout(dropout)
        self.questions = nn.Parameter(torch.zeros(1, input_dim))  # C×D

    def bind(self, vocabulary: Sequence[str], num_logits: int) -> None:
        input_dim = self.questions.shape[1]
        self.output_dim = num_logits * input_dim
        self.questions = nn.Parameter(torch.zeros(num_logits, input_dim))
        self.per_class = num_logits > 1

    def weights(self, encoded: Encoded) -> Tensor:
        """Return the weights N×C×1×T."""
        scores = self.questions @ encoded.states.transpose(1, 2)  # N×C×T
        return self.normalize(scores, encoded.mask.unsqueeze(1)).unsqueeze(2)

    def mix(self, encoded: Encoded, weights: Tensor) -> Encoded:
        """Return the features of all classes as one state: N×T×D, N×C×1×T → N×1×DC."""
        context = (encoded.states.transpose(1, 2) @ weights.squeeze(2).transpose(1, 2)).flatten(1)  # N×DC
        return Encoded(context.unsqueeze(1), encoded.mask.any(1, keepdim=True), context)

    def forward(self, encoded: Encoded) -> Encoded:
        return self.mix(encoded, self.dropout(self.weights(encoded)))

"""Word vectors learned from the training texts."""

from collections.abc import Sequence
from typing import Annotated, Literal

import torch
from pydantic import Field
from torch import Tensor, nn

from heedful.data.padded_batches import Inputs
from heedful.data.tokenizer import UNKNOWN_ID
from heedful.kernels.layers import Dropout
from heedful.models.component import Embedding, Rate, Size, zero_padding


class LearnedEmbedding(Embedding):
    """One learned vector for each token of the vocabulary.

    Args:
        word_dropout: probability of replacing a token by the unknown token while training (Iyyer et al. 2015), which
            also trains the vector of the unknown token.
    """

    def __init__(
        self,
        vocabulary: Sequence[str],
        *,
        dim: Size = 100,
        init: Literal["normal", "uniform"] = "normal",
        init_scale: Annotated[float, Field(gt=0, allow_inf_nan=False)] = 1.0,
        dropout: Rate = 0.0,
        word_dropout: Rate = 0.0,
    ) -> None:
        super().__init__(dim)
        self.table: nn.Embedding | nn.EmbeddingBag = nn.Embedding(len(vocabulary), dim)
        with torch.no_grad():
            if init == "uniform":
                self.table.weight.uniform_(-init_scale, init_scale)
            else:
                self.table.weight.mul_(init_scale)  # torch initializes with N(0, 1)
        self.dropout = Dropout(dropout)
        self.word_dropout = word_dropout

    def vectors(self, ids: Tensor) -> Tensor:
        """Return the vector of each token: N×L token ids → N×L×D."""
        return self.table(ids)

    def forward(self, inputs: Inputs) -> Tensor:
        ids = inputs.ids
        if self.training and self.word_dropout:
            dropped = torch.rand(ids.shape, device=ids.device) < self.word_dropout
            ids = ids.masked_fill(dropped, UNKNOWN_ID)
        return zero_padding(self.dropout(self.vectors(ids)), inputs.mask)

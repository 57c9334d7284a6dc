"""Vectors that tell the two texts of a pair apart (Devlin et al. 2019, section 3, "segment embeddings")."""

import torch
from torch import Tensor, nn

from heedful.data.padded_batches import Inputs
from heedful.models.component import Component, zero_padding


class SegmentEmbedding(Component):
    """A learned vector for each of the two texts, at first zero, which is added to the vectors of its tokens."""

    def __init__(self, input_dim: int) -> None:
        super().__init__(input_dim)
        self.table = nn.Embedding.from_pretrained(torch.zeros(2, input_dim), freeze=False)

    def forward(self, embeddings: Tensor, inputs: Inputs) -> Tensor:
        """Return the sums, zero on padding: N×L×D → N×L×D."""
        assert inputs.segments is not None
        return embeddings + zero_padding(self.table(inputs.segments), inputs.mask)

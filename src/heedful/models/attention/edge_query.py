"""A learned query with biases for the ends of a text: the attention of experiment=speedrun."""

from typing import Annotated, Any

import torch
from pydantic import Field
from torch import Tensor, nn

from heedful.models.attention.query import LearnedQueryAttention
from heedful.models.component import Encoded


class EdgeQueryAttention(LearnedQueryAttention):
    """A learned query; the weights also depend on a token's position, and the context vector on the text's length.

    Two biases are added to the score of each token: one depends on the token's distance from the beginning of the text,
    the other on its distance from the end. Distances are divided into intervals of 1, 2, 4, … tokens, and each interval
    has its own bias (similar to the relative position biases of Raffel et al. 2020).

    With B = `edge_steps`, the last interval contains all distances of at least 2^(B-1); the token at an end has
    distance 1. The 2B biases are initialized with zeros, and `scaled` does not divide them. With `reference_length`,
    long texts, which contain more evidence, can get more extreme logits.
    """

    def __init__(
        self,
        input_dim: int,
        *,
        edge_steps: Annotated[int, Field(ge=0, le=32)] = 12,
        reference_length: Annotated[float, Field(gt=0, allow_inf_nan=False)] | None = None,
        **options: Any,
    ) -> None:
        super().__init__(input_dim, **options)
        self.reference_length = reference_length
        self.edges = nn.Parameter(torch.zeros(2, edge_steps)) if edge_steps else None  # biases: beginning, end

    def scaled_scores(self, encoded: Encoded) -> Tensor:
        scores = super().scaled_scores(encoded)  # N×T
        if self.edges is None:
            return scores
        starts = 2 ** torch.arange(1, self.edges.shape[1], device=encoded.mask.device)  # of each interval but the first
        from_start = encoded.mask.long().cumsum(1)  # N×T, 1 for the first token; ONNX sums no booleans
        from_end = from_start[:, -1:] - from_start + 1
        beginning, end = (torch.bucketize(distances, starts, right=True) for distances in (from_start, from_end))
        return scores + (self.edges[0][beginning] + self.edges[1][end])  # the softmax ignores the biases of padding

    def mix(self, encoded: Encoded, weights: Tensor) -> Encoded:
        mixed = super().mix(encoded, weights)
        if self.reference_length is None:
            return mixed
        lengths = encoded.mask.sum(1, keepdim=True).to(mixed.summary.dtype)  # N×1
        context = mixed.summary * (lengths / self.reference_length).sqrt()
        return Encoded(context.unsqueeze(1), mixed.mask, context)

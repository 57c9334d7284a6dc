"""Attention with a learned query that all texts share."""

import math
from typing import Any

import torch
from torch import Tensor, nn

from src.models.attention.query import QueryAttention
from src.models.types import Encoded


class LearnedQueryAttention(QueryAttention):
    """score(h) = uᵀ h with a learned query u instead of the text's summary (Lin et al. 2017, eq. 5, without tanh).

    u has D parameters. It is initialized with zeros, so the initial weights are uniform.

    Two optional biases are added to the score of each token: one depends on the token's distance from the beginning of
    the text, the other on its distance from the end. Distances are divided into intervals of 1, 2, 4, … tokens, and
    each interval has its own bias (similar to the relative position biases of Raffel et al. 2020).

    Args:
        edge_steps: number B of intervals for each end of the text, in [0, 32]; 0 omits the biases. The 2B biases are
            initialized with zeros. The last interval contains all distances of at least 2^(B-1), and the token at an
            end has distance 1.
        reference_length: multiply the context vector of a text of T tokens by √(T / reference_length), so that long
            texts, which contain more evidence, can get more extreme logits; must be > 0. None omits the factor.
        options: options of `QueryAttention`; `scaled` does not divide the biases.

    Raises:
        ValueError: if an option is outside its range.
    """

    def __init__(
        self, input_dim: int, *, edge_steps: int = 0, reference_length: float | None = None, **options: Any
    ) -> None:
        super().__init__(input_dim, **options)
        if not 0 <= edge_steps <= 32:
            raise ValueError(f"edge_steps={edge_steps} must lie in [0, 32]")
        if reference_length is not None and not 0 < reference_length < math.inf:
            raise ValueError(f"reference_length={reference_length} must be a finite number above 0")
        self.reference_length = reference_length
        self.question = nn.Parameter(torch.zeros(input_dim))  # the query u
        self.edges = nn.Parameter(torch.zeros(2, edge_steps)) if edge_steps else None  # biases: beginning, end

    def score(self, query: Tensor, keys: Tensor) -> Tensor:
        return keys @ self.question

    def scaled_scores(self, encoded: Encoded) -> Tensor:
        scores = super().scaled_scores(encoded)  # N×T
        if self.edges is None:
            return scores
        starts = 2 ** torch.arange(1, self.edges.shape[1], device=scores.device)  # start of each interval but the first
        from_start = encoded.mask.cumsum(1)  # N×T, 1 for the first token
        from_end = from_start[:, -1:] - from_start + 1
        beginning, end = (torch.bucketize(distances, starts, right=True) for distances in (from_start, from_end))
        return scores + (self.edges[0][beginning] + self.edges[1][end])  # the softmax ignores the biases of padding

    def _mix(self, encoded: Encoded, weights: Tensor) -> Encoded:
        mixed = super()._mix(encoded, weights)
        if self.reference_length is None:
            return mixed
        lengths = encoded.mask.sum(1, keepdim=True).to(mixed.summary.dtype)  # N×1
        context = mixed.summary * (lengths / self.reference_length).sqrt()
        return Encoded(context.unsqueeze(1), mixed.mask, context)

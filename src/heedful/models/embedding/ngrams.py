"""Vectors of words and of the n-grams that end with them (Joulin, Grave, Bojanowski & Mikolov 2017)."""

from collections.abc import Sequence
from typing import Annotated

import torch
from pydantic import Field
from torch import Tensor, nn

from heedful.models.component import Rate, Size
from heedful.models.embedding.learned import LearnedEmbedding
from heedful.models.ngram_codes import MAX_ORDER, first_occurrences, ngram_codes


class NgramEmbedding(LearnedEmbedding):
    """The sum of the vectors of a token and of the bigram, trigram, … that end with this token.

    In the table, each token has a row of its own; n-grams of two or more tokens share hashed rows. Shared rows are
    initialized with zeros, so that a row that no training text uses has no effect. The beginning of a text counts as a
    token. With `sparse`, the gradients have only the rows that the batch uses. With `binary`, an n-gram counts only
    where it first occurs, as in the presence features of Wang and Manning (2012).
    """

    def __init__(
        self,
        vocabulary: Sequence[str],
        *,
        dim: Size = 16,
        max_order: Annotated[int, Field(ge=1, le=MAX_ORDER)] = 2,
        buckets: Size = 200_000,
        init_std: Annotated[float, Field(ge=0)] = 0.05,
        sparse: bool = False,
        dropout: Rate = 0.0,
        word_dropout: Rate = 0.0,
        binary: bool = False,
    ) -> None:
        super().__init__(vocabulary, dim=dim, dropout=dropout, word_dropout=word_dropout)
        self.max_order = max_order
        self.buckets = buckets
        self.binary = binary
        self.words = len(vocabulary)
        rows = self.words + (buckets if max_order > 1 else 0)
        weight = torch.zeros(rows, dim)
        weight[: self.words].normal_(0.0, init_std)
        # replaces the base class's table, which is still initialized because later random numbers depend on its draws
        self.table = nn.EmbeddingBag.from_pretrained(weight, freeze=False, mode="sum", sparse=sparse)

    def rows(self, ids: Tensor) -> Tensor:
        """Return the table rows of the n-grams that end with each token: N×L → N×L×max_order.

        The row of a single token is its id, below `words`; longer n-grams share `buckets` hashed rows.
        """
        codes = ngram_codes(ids, self.max_order)
        return torch.cat([codes[..., :1], codes[..., 1:] % self.buckets + self.words], -1)

    def vectors(self, ids: Tensor) -> Tensor:
        rows = self.rows(ids)
        counted = first_occurrences(rows).to(self.table.weight.dtype).view(-1, self.max_order) if self.binary else None
        return self.table(rows.view(-1, self.max_order), None, counted).view(*ids.shape, self.output_dim)

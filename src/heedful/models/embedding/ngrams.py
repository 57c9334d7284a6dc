"""Vectors of words and of the n-grams that end with them (Joulin, Grave, Bojanowski & Mikolov 2017)."""

from collections.abc import Sequence
from typing import Annotated

import torch
from pydantic import Field
from torch import Tensor, nn

from heedful.models.component import Rate, Size
from heedful.models.embedding.learned import LearnedEmbedding

BASE = 0x2545F4914F6CDD1D  # odd, so that multiplication by it is invertible modulo 2⁶⁴
MAX_ORDER = 64  # limit of max_order, because the time grows with max_order


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


def ngram_codes(tokens: Tensor, max_order: int) -> Tensor:
    """Return a number for each of the n-grams that end with each token: N×L → N×L×max_order int64.

    The number of a single token is its id. Longer n-grams have hashes of 64 bits, which are as good as unique.
    """
    code, codes = tokens, [tokens]
    for shorter in range(1, max_order):
        previous = nn.functional.pad(code, (1, 0), value=-shorter)[:, :-1]  # negative, unlike all token ids
        code = previous * BASE + tokens
        codes.append(mix_bits(code))
    return torch.stack(codes, -1)


def mix_bits(code: Tensor) -> Tensor:
    """Return a hash of each code int64, modulo 2⁶⁴."""
    mixed = exclusive_or(code, shift_right(code, 31)) * BASE
    return exclusive_or(mixed, shift_right(mixed, 29))


def shift_right(codes: Tensor, bits: int) -> Tensor:
    """Return the signed integers codes >> bits; ONNX shifts unsigned integers only."""
    if not torch.onnx.is_in_onnx_export():
        return codes >> bits
    return torch.div(codes - (codes & (2**bits - 1)), 2**bits, rounding_mode="trunc")


def exclusive_or(one: Tensor, other: Tensor) -> Tensor:
    """Return one ^ other, of which torch exports only the conjunction to ONNX."""
    return one + other - 2 * (one & other) if torch.onnx.is_in_onnx_export() else one ^ other


def first_occurrences(rows: Tensor) -> Tensor:
    """Return whether each row number occurs for the first time in its text: N×… → bool of this shape."""
    numbers = rows.flatten(1)  # N×LO
    size = numbers.shape[1]
    # the sort keys have no ties, because the exporters to ONNX do not support a stable sort
    order = (numbers * size + torch.arange(size, device=rows.device)).argsort()
    ordered = numbers.gather(1, order)
    is_first = torch.ones_like(ordered, dtype=torch.bool)
    is_first[:, 1:] = ordered[:, 1:] != ordered[:, :-1]
    return torch.empty_like(is_first).scatter_(1, order, is_first).view_as(rows)

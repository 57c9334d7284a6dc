"""Vectors of words and of the n-grams that end with them (Joulin, Grave, Bojanowski & Mikolov 2017)."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from src.models.embedding.learned import LearnedEmbedding

BASE = 0x2545F4914F6CDD1D  # odd, so that multiplication by it is invertible modulo 2⁶⁴
LONGEST = 64  # maximum of max_order; each order is computed separately


class NgramEmbedding(LearnedEmbedding):
    """The sum of a token's vector and the vectors of the bigram, trigram, … that end with this token.

    Each token has a row of its own; longer n-grams share hashed rows. Shared rows start at zero, so that n-grams absent
    from the training texts have no effect. The beginning of a text counts as a token.

    Args:
        vocabulary: the tokens by id.
        dim: D, features of a vector.
        max_order: number of tokens of the longest n-grams (1 to LONGEST).
        buckets: rows that all n-grams of at least two tokens share (≥ 1).
        init_std: standard deviation of the initial normal noise in the rows of tokens (≥ 0).
        sparse: compute sparse gradients, which contain only the rows in the batch. The cost of a step then depends on
            its texts, not on `buckets`. Only the optimizers adagrad and sgd support sparse gradients.
        dropout: probability in [0, 1) of dropping a feature of a vector.
        word_dropout: probability in [0, 1) of reading a token as unknown while training, in all its n-grams.

    Raises:
        ValueError: if an option is outside its range.
    """

    def __init__(
        self,
        vocabulary: Sequence[str],
        *,
        dim: int = 16,
        max_order: int = 2,
        buckets: int = 200_000,
        init_std: float = 0.05,
        sparse: bool = False,
        dropout: float = 0.0,
        word_dropout: float = 0.0,
    ) -> None:
        if not 1 <= max_order <= LONGEST:
            raise ValueError(f"max_order={max_order} must lie in [1, {LONGEST}]")
        if buckets < 1:
            raise ValueError(f"buckets={buckets} must be at least 1")
        if init_std < 0:
            raise ValueError(f"init_std={init_std} must not be negative")
        super().__init__(vocabulary, dim=dim, dropout=dropout, word_dropout=word_dropout)
        self.max_order = max_order
        self.buckets = buckets
        self.words = len(vocabulary)
        rows = self.words + (buckets if max_order > 1 else 0)
        weight = torch.zeros(rows, dim)
        weight[: self.words].normal_(0.0, init_std)
        self.table = nn.EmbeddingBag.from_pretrained(weight, freeze=False, mode="sum", sparse=sparse)

    def rows(self, tokens: Tensor) -> Tensor:
        """Return the table rows of the n-grams that end with each token: N×L → N×L×max_order."""
        code, rows = tokens, [tokens]
        for shorter in range(1, self.max_order):
            previous = nn.functional.pad(code, (1, 0), value=-shorter)[:, :-1]  # negative: not the id of any token
            code = previous * BASE + tokens  # hash of the n-gram, modulo 2⁶⁴
            mixed = (code ^ (code >> 31)) * BASE
            rows.append((mixed ^ (mixed >> 29)) % self.buckets + self.words)
        return torch.stack(rows, -1)

    def vectors(self, tokens: Tensor) -> Tensor:
        return self.table(self.rows(tokens).view(-1, self.max_order)).view(*tokens.shape, self.output_dim)

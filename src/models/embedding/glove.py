"""Pretrained GloVe vectors (Pennington, Socher & Manning 2014)."""

from collections.abc import Sequence
from typing import Literal

import torch
from torch import Tensor

from src.data.glove import read_glove
from src.errors import UserError
from src.models.embedding.learned import LearnedEmbedding


class GloveEmbedding(LearnedEmbedding):
    """Vectors that start as GloVe's, for the words that GloVe knows.

    The file is read by `load_pretrained`, not here: a trained checkpoint holds its vectors and needs no file.

    Args:
        vocabulary: the tokens by id.
        path: a GloVe `.txt`, or a `.zip` that holds one; None takes the bundled 10,000 most frequent words × 50.
        dim: D, features of the file's vectors.
        freeze: keep the vectors as they are.
        unknown: what becomes of a word without a vector: `keep` gives it a random vector of the same spread as
            GloVe's, `drop` leaves it out of the text as if it were not there.
        dropout: probability in [0, 1) of dropping a feature of a vector.
        word_dropout: probability in [0, 1) of reading a token as unknown while training.

    Raises:
        ValueError: if an option is outside its range.
    """

    has_vector: Tensor

    def __init__(
        self,
        vocabulary: Sequence[str],
        *,
        path: str | None = None,
        dim: int = 50,
        freeze: bool = False,
        unknown: Literal["keep", "drop"] = "keep",
        dropout: float = 0.0,
        word_dropout: float = 0.0,
    ) -> None:
        super().__init__(vocabulary, dim=dim, dropout=dropout, word_dropout=word_dropout)
        if unknown not in ("keep", "drop"):
            raise ValueError(f"unknown={unknown!r} must be keep or drop")
        self.vocabulary = list(vocabulary)
        self.path = path
        self.drop_unknown = unknown == "drop"
        self.table.weight.requires_grad_(not freeze)
        self.register_buffer("has_vector", torch.zeros(len(self.vocabulary), dtype=torch.bool))

    def load_pretrained(self) -> None:
        """Fill the table from the file.

        Raises:
            UserError: if the file cannot be read, has vectors of another size, or knows none of the words.
        """
        words, vectors = read_glove(self.path, self.vocabulary)
        where = self.path or "the bundled GloVe vectors"
        if not words:
            raise UserError(f"{where}: no word of the vocabulary has a vector; is it the right language and case?")
        found = torch.from_numpy(vectors)  # words×D
        if found.shape[1] != self.output_dim:
            raise UserError(
                f"{where}: the vectors have {found.shape[1]} features; write model.embedding.dim={found.shape[1]}"
            )
        row = {word: i for i, word in enumerate(self.vocabulary)}
        rows = torch.tensor([row[word] for word in words])
        self.has_vector[rows] = True
        with torch.no_grad():
            self.table.weight.normal_(0.0, found.std().item())
            self.table.weight[rows] = found

    def known(self, tokens: Tensor, mask: Tensor) -> Tensor:
        """Which tokens the model reads at all, N×L bool."""
        return mask & self.has_vector[tokens] if self.drop_unknown else mask

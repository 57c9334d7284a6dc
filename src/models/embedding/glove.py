"""Pretrained GloVe vectors (Pennington, Socher & Manning 2014)."""

from collections.abc import Sequence
from typing import Literal

import torch
from torch import Tensor

from src.data.glove import read_glove
from src.errors import UserError
from src.models.component import Rate, Size
from src.models.embedding.learned import LearnedEmbedding


class GloveEmbedding(LearnedEmbedding):
    """Word vectors that are initialized with GloVe vectors.

    `load_pretrained`, not the constructor, reads the file of vectors. Loading a checkpoint does not need this file.
    Words without a GloVe vector get random vectors with the standard deviation of the GloVe vectors (unknown=keep), or
    are removed from the text (unknown=drop).
    """

    has_vector: Tensor

    def __init__(
        self,
        vocabulary: Sequence[str],
        *,
        path: str | None = None,
        dim: Size = 50,
        freeze: bool = False,
        unknown: Literal["keep", "drop"] = "keep",
        dropout: Rate = 0.0,
        word_dropout: Rate = 0.0,
    ) -> None:
        super().__init__(vocabulary, dim=dim, dropout=dropout, word_dropout=word_dropout)
        self.vocabulary = list(vocabulary)
        self.path = path
        self.drop_unknown = unknown == "drop"
        self.table.weight.requires_grad_(not freeze)
        self.register_buffer("has_vector", torch.zeros(len(self.vocabulary), dtype=torch.bool))

    def load_pretrained(self) -> None:
        """Copy the GloVe vectors of the vocabulary into the table, and set all other rows to random vectors."""
        words, vectors = read_glove(self.path, self.vocabulary)
        source = self.path or "the bundled GloVe vectors"
        if not words:
            raise UserError(
                f"{source}: no word of the vocabulary has a vector; check that the texts and the vectors agree in "
                "language and letter case, or use model/embedding=learned"
            )
        size = vectors.shape[1]
        if size != self.output_dim:
            raise UserError(f"{source}: the vectors have {size} features; write model.embedding.dim={size}")
        row = {word: i for i, word in enumerate(self.vocabulary)}
        rows, known = torch.tensor([row[word] for word in words]), torch.from_numpy(vectors)  # words, words×D
        self.has_vector[rows] = True
        with torch.no_grad():
            self.table.weight.normal_(0.0, known.std().item())
            self.table.weight[rows] = known

    def known(self, tokens: Tensor, mask: Tensor) -> Tensor:
        return mask & self.has_vector[tokens] if self.drop_unknown else mask

    def tokens_with_vectors(self) -> Tensor | None:
        return self.has_vector if self.has_vector.any() else None

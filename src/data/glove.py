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
from rich.console import Console
from rich.progress import Progress

from src.data.files import existing_file, open_file
from src.data.utf8 import require_one_byte_units
from src.errors import UserError
from src.formatting import format_list, format_repr

BUNDLED = Path(__file__).parent / "assets" / "glove.6B.50d.top10000.npz"
LARGE_FILE = 50_000_000  # bytes; reading a larger file shows a progress bar
HEADER = re.compile(rb"\d+ (\d+)\s*")  # word2vec's first line: number of words, dimension
REPORT = 10_000  # number of lines between two updates of the progress bar


def read_glove(path: str | None, words: Iterable[str]) -> tuple[list[str], np.ndarray]:
    """Read the vectors of `words`; words without a vector are left out.

    Args:
        path: a text file of lines "word number number …", or a zip file that contains only such a file; None reads the
            bundled 10,000 most frequent words of GloVe 6B in 50 dimensions.
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
    with _vectors(full) as (file, size):
        return _parse(file, size, full, {word.encode() for word in words})


def bundled_words() -> list[str]:
    """Return the words of the bundled vectors, most frequent first."""
    with np.load(BUNDLED, allow_pickle=False) as file:
        return file["words"].tobytes().decode().split("\n")


@contextmanager
def _vectors(path: Path) -> Iterator[tuple[IO[bytes], int]]:
    """Open a text file, or the only file in a zip file; yield the stream and the number of bytes in it."""
    with open_file(path) as raw:
        if path.suffix.lower() != ".zip":
            yield raw, path.stat().st_size
            return
        try:
            with zipfile.ZipFile(raw) as archive:
                members = [member for member in archive.infolist() if not member.is_dir()]
                if len(members) != 1:
                    names = format_list([member.filename for member in members], plain=True)
                    raise UserError(f"{path}: holds {len(members)} files ({names}); unpack it and use the path of one")
                with archive.open(members[0]) as file:
                    yield file, members[0].file_size
        except (zipfile.BadZipFile, EOFError, zlib.error, lzma.LZMAError, OSError) as error:
            raise UserError(f"{path}: is not a zip file, or is damaged ({error}); download it again") from None
        except (NotImplementedError, RuntimeError) as error:  # unsupported compression, or encryption
            raise UserError(
                f"{path}: this zip file cannot be read ({error}); unpack it and set the path of the file"
            ) from None


def _parse(file: IO[bytes], size: int, path: Path, requested: set[bytes]) -> tuple[list[str], np.ndarray]:
    """Return the requested words that have a vector, and their vectors; to save time, no other vector is parsed."""
    vectors: dict[bytes, np.ndarray] = {}
    dimension = read = 0
    with Progress(console=Console(stderr=True), transient=True, disable=size < LARGE_FILE) as progress:
        bar = progress.add_task(f"Reading {path.name}", total=size)
        for number, line in enumerate(file, start=1):
            read += len(line)
            if number % REPORT == 0:
                progress.update(bar, completed=read)
            if number == 1:
                require_one_byte_units(line, str(path))
            if number == 1 and (header := HEADER.fullmatch(line)):
                dimension = int(header[1][:18])  # int() rejects more than 4,300 digits
                continue
            line = line.strip()
            spaces = line.count(b" ")
            dimension = dimension or spaces
            if dimension < 1 or spaces < dimension:
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

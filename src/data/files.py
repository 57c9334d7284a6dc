"""Files from a user: opened safely, read as text, and hashed."""

import gzip
import hashlib
import io
import stat
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from src.data.paths import existing_path, os_reason
from src.data.utf8 import decoded
from src.errors import UserError
from src.formatting import format_list

BLOCK = 1 << 20  # bytes hashed at a time
GZIP = ".gz"
MOST_UNPACKED = 256 << 20  # bytes; a .gz file of any size may unpack to this many bytes
MOST_EXPANSION = 100  # or to this multiple of its size, if that is more; text rarely exceeds a multiple of 20
KINDS = {
    stat.S_IFDIR: "a folder",
    stat.S_IFIFO: "a named pipe",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFSOCK: "a socket",
}


def existing_file(path: str | Path, option: str) -> Path:
    """Return the absolute path of a file, which must exist and be readable.

    Raises:
        UserError: if there is no file, or it cannot be read.
    """
    full = existing_path(path, option)
    with open_file(full, f"{option}={path}"):
        return full


@contextmanager
def open_file(path: Path, source: str | None = None, pipes: bool = False) -> Iterator[IO[bytes]]:
    """Open a user's file for reading in binary mode.

    Only regular files are opened, also through links. Reading other kinds of files may block or never end.

    Args:
        path: path of the file.
        source: the name of the file in messages; None means its path.
        pipes: also open pipes, such as a shell's `<(…)` and usually `/dev/stdin`.

    Raises:
        UserError: if the file is of another kind, or cannot be opened or read.
    """
    source = source or str(path)
    try:
        _require_readable_kind(path, source, pipes)
        with path.open("rb") as file:
            yield file
    except OSError as error:
        raise UserError(f"{source}: cannot be read ({os_reason(error)})") from None


@contextmanager
def open_text(
    path: Path, source: str | None = None, pipes: bool = False, newline: str = ""
) -> Iterator[io.TextIOWrapper]:
    """Open the text of a file, UTF-8 with or without a byte order mark; a .gz file is unpacked.

    Args:
        path: path of the file.
        source: the name of the file in messages; None means its path.
        pipes: also open pipes.
        newline: argument of `open`.

    Raises:
        UserError: now, or when the text is read, if the file cannot be read or is not UTF-8 text.
    """
    source = source or str(path)
    with open_file(path, source, pipes) as file:
        is_packed = path.suffix.lower() == GZIP
        yield decoded(_unpacker(file, path.stat().st_size, source) if is_packed else file.read, source, newline)


def read_text(path: Path, source: str | None = None) -> str:
    """Return the whole text of a file; arguments and errors are those of `open_text`."""
    with open_text(path, source) as text:
        return text.read()


def file_format(path: Path) -> str:
    """Return the extension in lower case without .gz, such as .csv for a.csv and for a.csv.gz."""
    return Path(path.stem if path.suffix.lower() == GZIP else path.name).suffix.lower()


def _unpacker(file: IO[bytes], size: int, source: str) -> Callable[[int], bytes]:
    """Return a function that reads the unpacked bytes of a gzip file of `size` bytes.

    The function limits the number of unpacked bytes, because a malicious file could fill the disk.
    """
    unpacked = gzip.GzipFile(fileobj=file)
    limit = max(MOST_UNPACKED, MOST_EXPANSION * size)

    def read(count: int) -> bytes:
        try:
            data = unpacked.read(count)
        except (OSError, EOFError, zlib.error) as error:
            raise UserError(f"{source}: is not a gzip file, or is damaged ({error}); write it again") from None
        if unpacked.tell() > limit:
            raise UserError(
                f"{source}: unpacks to more than {limit >> 20:,} MiB, over {MOST_EXPANSION} times its size, which is "
                "unusual for text; unpack it yourself if it is correct"
            )
        return data

    return read


def content_hash(paths: Iterable[Path]) -> str:
    """Return the hexadecimal SHA-256 of the contents of all files in this order; names and dates have no effect.

    Raises:
        UserError: if a file cannot be read.
    """
    digest = hashlib.sha256()
    for path in paths:
        file_digest = hashlib.sha256()
        with open_file(path) as file:
            while block := file.read(BLOCK):
                file_digest.update(block)
        digest.update(file_digest.digest())
    return digest.hexdigest()


def _require_readable_kind(path: Path, source: str, pipes: bool) -> None:
    """Raise a UserError unless the path is a regular file, or a pipe if `pipes` is set."""
    kind = stat.S_IFMT(path.stat().st_mode)
    if kind == stat.S_IFREG or (pipes and kind == stat.S_IFIFO):
        return
    file_names: list[str] = []
    if kind == stat.S_IFDIR:
        with suppress(OSError):
            file_names = sorted(entry.name for entry in path.iterdir() if entry.is_file())
    files = f"; name one of its files: {format_list(file_names, plain=True)}" if file_names else ""
    raise UserError(f"{source}: is {KINDS.get(kind, 'something else')}, not a file{files}")

"""Open, read and hash files supplied by the user."""

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
# A .gz file may unpack to MAX_UNPACKED bytes or to MAX_EXPANSION times its size, whichever is larger; text rarely
# unpacks to more than 20 times the size of its file.
MAX_UNPACKED = 256 << 20
MAX_EXPANSION = 100
KIND_NAMES = {
    stat.S_IFDIR: "a folder",
    stat.S_IFIFO: "a named pipe",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFSOCK: "a socket",
}


def existing_file(path: str | Path, option: str) -> Path:
    """Return the absolute path of a file, which must exist and be readable.

    Raises:
        UserError: if the file does not exist, is not a regular file, or cannot be read.
    """
    full = existing_path(path, option)
    with open_file(full, f"{option}={path}"):
        return full


@contextmanager
def open_file(path: Path, source: str | None = None, pipes: bool = False) -> Iterator[IO[bytes]]:
    """Open a user's file for reading in binary mode.

    Only regular files are opened, directly or through a link; reading a file of another kind may block or never end.

    Args:
        source: name of the file in messages; None means the path.
        pipes: also open pipes, such as a shell's `<(…)` and usually `/dev/stdin`.

    Raises:
        UserError: if the file is of another kind or cannot be opened, or if an OSError occurs while it is open.
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
    """Open a text file in UTF-8, with or without a byte order mark; a .gz file is unpacked.

    Args:
        source, pipes: as for `open_file`.
        newline: as for `src.data.utf8.decoded`.

    Raises:
        UserError: if the file cannot be opened; while the text is read, if the file is damaged, unpacks to an unusually
            large text, or is not UTF-8 text.
    """
    source = source or str(path)
    with open_file(path, source, pipes) as file:
        is_packed = path.suffix.lower() == GZIP
        yield decoded(_unpacker(file, path.stat().st_size, source) if is_packed else file.read, source, newline)


def read_text(path: Path, source: str | None = None) -> str:
    """Return the whole text of a file; `path`, `source` and the errors are as for `open_text`."""
    with open_text(path, source) as text:
        return text.read()


def file_format(path: Path) -> str:
    """Return the extension in lower case, without .gz: ".csv" for both a.csv and a.csv.gz."""
    return Path(path.stem if path.suffix.lower() == GZIP else path.name).suffix.lower()


def _unpacker(file: IO[bytes], size: int, source: str) -> Callable[[int], bytes]:
    """Return a function that reads up to n unpacked bytes of a gzip file of `size` bytes.

    The number of unpacked bytes is limited, because a malicious file could fill the disk.
    """
    unpacked = gzip.GzipFile(fileobj=file)
    limit = max(MAX_UNPACKED, MAX_EXPANSION * size)

    def read(count: int) -> bytes:
        try:
            data = unpacked.read(count)
        except (OSError, EOFError, zlib.error) as error:
            raise UserError(
                f"{source}: is not a gzip file, or is damaged ({error}); compress or download it again"
            ) from None
        if unpacked.tell() > limit:
            raise UserError(
                f"{source}: unpacks to more than {limit >> 20:,} MiB and {MAX_EXPANSION} times its size, which is "
                "unusual for text; unpack it yourself if you trust it"
            )
        return data

    return read


def content_hash(paths: Iterable[Path]) -> str:
    """Return the hexadecimal SHA-256 of the contents of all files, in this order; their names and dates have no effect.

    Raises:
        UserError: if a file is not a regular file, or cannot be read.
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
    raise UserError(f"{source}: is {KIND_NAMES.get(kind, 'an unknown object')}, not a file{files}")

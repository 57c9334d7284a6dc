"""Open, read and hash files supplied by the user."""

import gzip
import hashlib
import io
import stat
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from src.data.paths import existing_path, os_reason
from src.errors import UserError

BLOCK = 1 << 20  # bytes hashed at a time
GZIP = ".gz"


def existing_file(path: str | Path, option: str) -> Path:
    """Return the absolute path of a file, which must exist and be readable.

    Raises:
        UserError: if the file does not exist, is not a regular file, or cannot be read.
    """
    full = existing_path(path, option)
    with open_file(full, f"{option}={path}"):
        return full


@contextmanager
def open_file(path: Path, source: str | None = None, pipes: bool = False, unpack: bool = False) -> Iterator[IO[bytes]]:
    """Open a user's file for reading in binary mode.

    Only regular files are opened, directly or through a link; reading a file of another kind may block or never end.

    Args:
        source: name of the file in messages; None means the path.
        pipes: also open pipes, such as a shell's `<(…)` and usually `/dev/stdin`.
        unpack: unpack the file if its name ends with .gz.

    Raises:
        UserError: if the file is of another kind or cannot be opened; or, while it is open, if it cannot be read or
            unpacked.
    """
    source = source or str(path)
    try:
        kind = stat.S_IFMT(path.stat().st_mode)
        if kind != stat.S_IFREG and not (pipes and kind == stat.S_IFIFO):
            name = "a folder" if kind == stat.S_IFDIR else "a device, pipe or socket"
            raise UserError(f"{source}: is {name}, not a file; set the path of a file")
        with path.open("rb") as file:
            yield gzip.GzipFile(fileobj=file) if unpack and path.suffix.lower() == GZIP else file  # type: ignore[misc]
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise UserError(
            f"{source}: is not a gzip file, or is damaged ({error}); compress or download it again"
        ) from None
    except OSError as error:
        raise UserError(f"{source}: cannot be read ({os_reason(error)})") from None


@contextmanager
def open_text(
    path: Path, source: str | None = None, pipes: bool = False, newline: str = ""
) -> Iterator[io.TextIOWrapper]:
    """Open a text file in UTF-8, with or without a byte order mark; a .gz file is unpacked.

    Args:
        source, pipes: as for `open_file`.
        newline: as for `open`: with "", lines end at every kind of line break; with a line feed, only at line feeds.

    Raises:
        UserError: as for `open_file`; or, while the text is read, if it is not UTF-8.
    """
    source = source or str(path)
    with open_file(path, source, pipes, unpack=True) as file:
        try:
            yield io.TextIOWrapper(file, "utf-8-sig", newline=newline)
        except UnicodeDecodeError as error:
            raise _not_utf8(source, _undecodable_line(path) if path.is_file() else None) from error


def read_text(path: Path, source: str | None = None) -> str:
    """Return the whole text of a file; `path`, `source` and the errors are as for `open_text`."""
    with open_text(path, source) as text:
        return text.read()


def decode(data: bytes, source: str) -> str:
    """Decode UTF-8, with or without a byte order mark; raise a UserError that names `source` and the line at fault."""
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise _not_utf8(source, data.count(b"\n", 0, error.start) + 1) from None


def _undecodable_line(path: Path) -> int | None:
    """Return the number of the first line that is not UTF-8."""
    with open_file(path, unpack=True) as file:
        for number, line in enumerate(file, start=1):
            try:
                line.decode()
            except UnicodeDecodeError:
                return number
    return None


def _not_utf8(source: str, line: int | None) -> UserError:
    place = "" if line is None else f"line {line} "
    return UserError(
        f"{source}: {place}is not UTF-8; save the file as UTF-8, for instance with `iconv -f WINDOWS-1252 -t UTF-8` if "
        "it was written on Windows in a Western language"
    )


def file_format(path: Path) -> str:
    """Return the extension in lower case, without .gz: ".csv" for both a.csv and a.csv.gz."""
    return Path(path.stem if path.suffix.lower() == GZIP else path.name).suffix.lower()


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

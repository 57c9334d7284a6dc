"""Paths and files supplied by the user: validate paths; open, read and hash files."""

import gzip
import hashlib
import io
import os
import stat
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from src.errors import UserError
from src.misspellings import suggestion

BLOCK = 1 << 20  # bytes hashed at a time
GZIP = ".gz"


def absolute_path(path: str | Path, option: str) -> Path:
    """Return the absolute path for a user's path; a relative path starts at the working directory.

    Args:
        path: may start with `~`, the home folder.
        option: name of the option that sets the path, such as `data.path`, for the message.

    Raises:
        UserError: if the path is empty or contains a null character, or if the home folder for its `~` is unknown.
    """
    if not str(path) or "\0" in str(path):
        raise UserError(f"{option}={str(path)!r}: is not a path; set the path of a file or folder")
    try:
        return Path(path).expanduser().absolute()
    except RuntimeError:  # `~name`, and there is no such user
        raise UserError(f"{option}={path}: there is no such home folder; write the path without ~") from None


def existing_path(path: str | Path, option: str) -> Path:
    """Return the absolute path of a file or folder, which must exist.

    The arguments are as for `absolute_path`.

    Raises:
        UserError: as for `absolute_path`, or if the path does not exist or is not accessible; the message suggests a
            similar name in the folder, if there is one.
    """
    full = absolute_path(path, option)
    try:
        full.stat()
    except (FileNotFoundError, NotADirectoryError):
        names: list[str] = []
        with suppress(OSError):
            names = [name for name in os.listdir(full.parent) if name != full.name]  # it may be a link to nothing
        missing = f"there is no {full.name!r} in {full.parent}{suggestion(full.name, names)}"
        raise UserError(f"{option}={path}: {missing}") from None
    except OSError as error:
        raise UserError(f"{option}={path}: cannot be read ({os_reason(error)})") from None
    return full


def local_path(name: str, option: str) -> Path | None:
    """Return the local path of a model's files, or None if `name` is the name of a model on the hub.

    `name` is a path if a file or folder of this name exists, or if it looks like a path (`./…`, `/…`, `~…`, `….json`).

    Raises:
        UserError: if the name is empty; or if it is a path or looks like one, but the path does not exist or is not
            accessible.
    """
    if not name or name.startswith((".", "/", "~")) or name.endswith(".json") or os.path.lexists(name):
        return existing_path(name, option)
    return None


def os_reason(error: OSError) -> str:
    """Return the operating system's message for an error, without the error number and the path."""
    return error.strerror or str(error)


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

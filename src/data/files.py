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


def absolute_path(path: str | Path, option: str) -> Path:
    """Return the absolute path for a user's path, which may start with `~`, the home folder.

    Args:
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
    """Return the absolute path of a file or folder; the arguments are as for `absolute_path`.

    Raises:
        UserError: if the path is empty, does not exist or is not accessible; the message suggests a similar name.
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
        raise UserError(f"{option}={path}: cannot be read ({error.strerror})") from None
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


def existing_file(path: str | Path, option: str) -> Path:
    """Return the absolute path of a regular file; raise a UserError if it does not exist or cannot be read."""
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
        mode = path.stat().st_mode
        if not stat.S_ISREG(mode) and not (pipes and stat.S_ISFIFO(mode)):
            name = "a folder" if stat.S_ISDIR(mode) else "a device, pipe or socket"
            raise UserError(f"{source}: is {name}, not a file; set the path of a file")
        with path.open("rb") as file:
            yield gzip.GzipFile(fileobj=file) if unpack and path.suffix.lower() == ".gz" else file  # type: ignore[misc]
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise UserError(
            f"{source}: is not a gzip file, or is damaged ({error}); compress or download it again"
        ) from None
    except OSError as error:
        raise UserError(f"{source}: cannot be read ({error.strerror or error})") from None


@contextmanager
def open_text(path: Path, source: str | None = None) -> Iterator[io.TextIOWrapper]:
    """Open a text file in UTF-8, with or without a byte order mark; a .gz file is unpacked, and line breaks are kept.

    Raises:
        UserError: as for `open_file`; or, while the text is read, if it is not UTF-8.
    """
    with open_file(path, source, unpack=True) as file:
        try:
            yield io.TextIOWrapper(file, "utf-8-sig", newline="")
        except UnicodeDecodeError:
            with open_file(path, source, unpack=True) as again:
                raise _not_utf8(source or str(path), again) from None


def read_text(path: Path, source: str | None = None) -> str:
    """Return the whole text of a file; `path`, `source` and the errors are as for `open_text`."""
    with open_text(path, source) as text:
        return text.read()


def decode(data: bytes, source: str) -> str:
    """Decode UTF-8, with or without a byte order mark; raise a UserError that names `source` and the line at fault."""
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise _not_utf8(source, data.split(b"\n")) from None


def _not_utf8(source: str, lines: Iterable[bytes]) -> UserError:
    """Return the error that names the first line that is not UTF-8."""
    line = next(i for i, line in enumerate(lines, start=1) if line.decode(errors="ignore").encode() != line)
    return UserError(
        f"{source}: line {line} is not UTF-8; save the file as UTF-8, for instance with `iconv -f WINDOWS-1252 -t "
        "UTF-8` if it was written on Windows in a Western language"
    )


def file_format(path: Path) -> str:
    """Return the extension in lower case, without .gz: ".csv" for both a.csv and a.csv.gz."""
    return Path(path.stem if path.suffix.lower() == ".gz" else path.name).suffix.lower()


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

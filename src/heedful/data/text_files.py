"""Paths and files supplied by the user: validate paths; open, read and hash files."""

import gzip
import hashlib
import io
import os
import re
import stat
import zlib
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from heedful.base.errors import UserError
from heedful.base.formatting import format_count, format_list
from heedful.config.mistakes import did_you_mean

# the rest of the name of a part of a split, whose number may be followed by the total and, on the hub, a hash
PART = re.compile(r"[-_. ]?\d+([-_]of[-_](?P<total>\d+))?([-_][0-9a-f]{16})?(?P<extension>(\.[a-z]+)+)", re.IGNORECASE)

TO_UTF8 = "for instance with `iconv -f WINDOWS-1252 -t UTF-8` if it was written on Windows in a Western language"
GZIP, PARQUET = rb"\x1f\x8b", rb"PAR1\x15"
# First bytes of files that are not what their names say: what they are, and the remedy
SIGNATURES = {
    rb"\xff\xfe|\xfe\xff|.?\0": "is text in UTF-16 or UTF-32; save it as UTF-8, for instance with "
    "`iconv -f UTF-16 -t UTF-8`",
    GZIP: "is compressed with gzip; unpack it, or add .gz to its name if it is text",
    rb"BZh[1-9]1A|\xfd7zXZ|\x28\xb5\x2f\xfd": "is compressed, but not with gzip; unpack it",
    rb"PK\x03\x04|\xd0\xcf\x11\xe0": "is a zip archive or an Excel file; unpack it, or save the table as CSV in UTF-8",
    PARQUET: "is a Parquet file; give it the extension .parquet",
}


def absolute_path(path: str | Path, option: str) -> Path:
    """Return the absolute path for a user's path, which may start with `~`; `option` names it in messages."""
    with suppress(RuntimeError):  # `~name`, and there is no such user
        if str(path) and "\0" not in str(path):
            return Path(path).expanduser().absolute()
    raise UserError(f"{option}={str(path)!r}: is not a path; set the path of a file or folder")


def existing_path(path: str | Path, option: str) -> Path:
    """Return the absolute path of a file or folder; if there is none, the message suggests a similar name."""
    full = absolute_path(path, option)
    if re.match(r"\w+://", str(path)):
        raise UserError(f"{option}={path}: is an address, not a path: download the file, and set its path")
    try:
        full.stat()
    except (FileNotFoundError, NotADirectoryError):
        names: list[str] = []
        with suppress(OSError):
            names = [name for name in os.listdir(full.parent) if name != full.name]  # it may be a link to nothing
        missing = f"there is no {full.name!r} in {full.parent}{did_you_mean(full.name, names)}"
        raise UserError(f"{option}={path}: {missing}") from None
    except OSError as error:
        raise UserError(f"{option}={path}: cannot be read ({error.strerror})") from None
    return full


def local_path(name: str, option: str) -> Path | None:
    """Return the local path of a model's files, or None if `name` is the name of a model on the hub.

    `name` is a path if a file or folder of this name exists, or if it looks like a path (`./…`, `/…`, `~…`, `….json`).
    """
    if not name or name.startswith((".", "/", "~")) or name.endswith(".json") or os.path.lexists(name):
        return existing_path(name, option)
    return None


def refuse_signatures(file: IO[bytes], source: str, expected: bytes | None = None) -> None:
    """Raise a UserError that says what a file is if it begins with a signature other than `expected`."""
    head = file.read(6)
    file.seek(0)
    for signature, remedy in SIGNATURES.items():
        if signature != expected and re.match(signature, head, re.DOTALL):
            raise UserError(f"{source}: {remedy}")


@contextmanager
def open_file(path: Path, source: str | None = None, unpack: bool = False) -> Iterator[IO[bytes]]:
    """Open a regular file in binary mode, directly or through a link; reading another kind may block or never end.

    Args:
        source: name of the file in messages; None means the path.
        unpack: unpack the file if its name ends with .gz.
    """
    source = source or str(path)
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            raise UserError(f"{source}: is a folder, device, pipe or socket; set the path of a file")
        with path.open("rb") as file:
            packed = unpack and path.suffix.lower() == ".gz"
            if packed:
                refuse_signatures(file, source, GZIP)
            yield gzip.GzipFile(fileobj=file) if packed else file  # type: ignore[misc]
    except (OSError, EOFError, zlib.error) as error:  # the last two, and a subclass of the first, for a damaged .gz
        reason = getattr(error, "strerror", None) or f"{error}: compress or download it again"
        raise UserError(f"{source}: cannot be read ({reason})") from None


@contextmanager
def open_text(path: Path, source: str | None = None) -> Iterator[io.TextIOWrapper]:
    """Open a UTF-8 file, with or without a byte order mark; a .gz file is unpacked, and line breaks are kept."""
    with open_file(path, source, unpack=True) as file:
        refuse_signatures(file, source or str(path))
        try:
            yield io.TextIOWrapper(file, "utf-8-sig", newline="")
        except UnicodeDecodeError:
            with open_file(path, source, unpack=True) as again:
                line = next(i for i, line in enumerate(again, 1) if line.decode(errors="ignore").encode() != line)
            raise UserError(f"{source or path}: line {line} is not UTF-8; save the file as UTF-8, {TO_UTF8}") from None


def file_format(path: Path) -> str:
    """Return the extension in lower case, without .gz: ".csv" for both a.csv and a.csv.gz."""
    return Path(path.stem if path.suffix.lower() == ".gz" else path.name).suffix.lower()


def tables_of_split(folder: Path, beginning: str, formats: Collection[str]) -> list[Path]:
    """Return the tables in a folder, at most one folder deep, whose names begin with the name of a split, sorted."""
    begins = re.compile(re.escape(beginning), re.IGNORECASE).match
    paths = sorted(path for path in [*folder.glob("*"), *folder.glob("*/*")] if begins(path.name))
    return [path for path in paths if file_format(path) in formats and path.is_file()]


def files_of_split(folder: Path, beginning: str, formats: Collection[str]) -> list[Path]:
    """Return the tables of a split, sorted.

    They are one file, or numbered parts of one format in one folder, such as train-00000-of-00002.parquet: other files
    that begin alike, such as train.csv beside train.jsonl or test_predictions.csv, may hold the same rows once more.
    """
    files = tables_of_split(folder, beginning, formats)
    where = f"data.path={folder}"
    if not files:
        raise UserError(
            f"{where}: has no file {beginning}* ({', '.join(formats)}), at most one folder deep; its files are "
            f"{format_list(sorted(os.listdir(folder)), plain=True) or 'none'}. To divide a single file, set "
            "data.path to this file"
        )
    names = format_list([str(path.relative_to(folder)) for path in files], plain=True)
    parts = [PART.fullmatch(path.name, len(beginning)) for path in files]
    kinds = {part and (path.parent, part["extension"].lower()) for path, part in zip(files, parts, strict=True)}
    if len(files) > 1 and (None in kinds or len(kinds) > 1):
        raise UserError(
            f"{where}: {len(files)} files could be the split {beginning!r}: {names}. Joined, they could hold "
            "the same rows twice: keep one of them in this folder, or name the file with data.path, data.val_path or "
            f"data.test_path. Parts of a split have one format and numbers: {beginning}-00000-of-00002.parquet"
        )
    totals = {int(part["total"]) for part in parts if part and part["total"]}
    if totals and totals != {len(files)}:
        raise UserError(
            f"{where}: the split {beginning!r} has {format_count(len(files), 'file')} ({names}), but {max(totals)} "
            "parts by their names: download the others, or remove those of another version"
        )
    return files


def content_hash(paths: Iterable[Path]) -> str:
    """Return the hexadecimal SHA-256 of the contents of all files, in this order, without names and dates."""
    digest = hashlib.sha256()
    for path in paths:
        with open_file(path) as file:
            digest.update(hashlib.file_digest(file, "sha256").digest())  # type: ignore[arg-type]
    return digest.hexdigest()

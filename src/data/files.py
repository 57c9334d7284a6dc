"""Files that a user names: validated paths, safe opening, decoding and content hashes."""

import hashlib
import os
import stat
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from difflib import get_close_matches
from pathlib import Path
from typing import IO

from src.data.listing import listed
from src.errors import UserError

BLOCK = 1 << 20  # bytes hashed at a time
SAMPLE = 4096  # bytes in which the pattern of zero bytes is counted
LONGEST_NAME = 100  # characters; longer names get no suggestions
SEPARATORS = (*b"\t\n\r", *range(32, 48))  # spaces and punctuation; rare characters in the other byte order
BYTE_ORDER_MARKS = {  # UTF-32 first: the mark of UTF-16LE is a prefix of that of UTF-32LE
    "UTF-32": (b"\xff\xfe\0\0", b"\0\0\xfe\xff"),
    "UTF-16": (b"\xff\xfe", b"\xfe\xff"),
}
KINDS = {
    stat.S_IFDIR: "a folder",
    stat.S_IFIFO: "a named pipe",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFSOCK: "a socket",
}


def nearest(name: str, known: Iterable[str]) -> str:
    """The clause ' (did you mean …?)' with the name in `known` closest to `name`, or an empty string."""
    if len(name) > LONGEST_NAME:
        return ""
    candidates = [candidate for candidate in known if len(candidate) <= LONGEST_NAME]
    matches = get_close_matches(name, candidates, n=1)
    return f" (did you mean {matches[0]!r}?)" if matches else ""


def absolute_path(path: str | Path, option: str) -> Path:
    """The absolute form of a path from the user; relative paths start from the current working directory.

    Args:
        path: the path from the user; `~` is the home folder.
        option: the name of its option, such as `data.path`, for the message.

    Raises:
        UserError: if the path is empty or contains a zero byte, or if there is no such home folder.
    """
    if not str(path) or "\0" in str(path):
        raise UserError(f"{option}={str(path)!r}: is not a path; give the path of a file or folder")
    try:
        return Path(path).expanduser().absolute()
    except RuntimeError:  # `~name` of a user that does not exist
        raise UserError(f"{option}={path}: there is no such home folder; write the path without ~") from None


def existing_path(path: str | Path, option: str) -> Path:
    """The absolute path of a file or folder that exists.

    Args:
        path: the path from the user; `~` is the home folder.
        option: the name of its option, for the message.

    Raises:
        UserError: if it does not exist or is not accessible; the message suggests the closest name in its folder.
    """
    full = absolute_path(path, option)
    try:
        full.stat()
    except (FileNotFoundError, NotADirectoryError):
        raise UserError(f"{option}={path}: {_missing(full)}") from None
    except OSError as error:
        raise UserError(f"{option}={path}: cannot be read ({_reason(error)})") from None
    return full


def existing_file(path: str | Path, option: str) -> Path:
    """The absolute path of a readable file.

    Raises:
        UserError: if there is no file, or it cannot be read.
    """
    full = existing_path(path, option)
    with open_file(full, f"{option}={path}"):
        return full


@contextmanager
def open_file(path: Path, source: str | None = None, pipes: bool = False) -> Iterator[IO[bytes]]:
    """Open a file of the user for reading bytes.

    Only regular files are opened, also through links. Reads of other kinds may block or never end.

    Args:
        path: of the file.
        source: the name of the file in messages; None takes its path.
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
        raise UserError(f"{source}: cannot be read ({_reason(error)})") from None


def read_text(path: Path, source: str | None = None, pipes: bool = False) -> str:
    """Read the text of a file, UTF-8 with or without a byte order mark.

    Args:
        path: of the file.
        source: the name of the file in messages; None takes its path.
        pipes: also read pipes.

    Raises:
        UserError: if the file cannot be read or is not UTF-8 text.
    """
    with open_file(path, source, pipes) as file:
        data = file.read()
    return decode(data, source or str(path))


def decode(data: bytes, source: str) -> str:
    """Decode UTF-8, with or without a byte order mark.

    Args:
        data: all bytes of a text.
        source: the name of their file, for the message.

    Raises:
        UserError: if they are not UTF-8 text; the message names the encoding if a byte order mark or the zero bytes
            reveal it.
    """
    try:
        text, decoding_error = data.decode("utf-8-sig"), None
    except UnicodeDecodeError as error:
        text, decoding_error = "", error
    zero = data.find(b"\0")
    if decoding_error is None and zero < 0:
        return text
    require_one_byte_units(data, source, ascii_share=0.02 if decoding_error else 0.75)
    if zero >= 0:
        raise UserError(
            f"{source}: byte {zero} (line {_line(data, zero)}) is zero, so this is not a text file, or is damaged; "
            "give a text file in UTF-8, not a spreadsheet or an archive"
        )
    assert decoding_error is not None
    position = decoding_error.start
    raise UserError(
        f"{source}: byte {position} (line {_line(data, position)}) is not UTF-8; save it as UTF-8, for "
        "instance with `iconv -f WINDOWS-1252 -t UTF-8` if it was written on Windows in a Western language"
    )


def require_one_byte_units(data: bytes, source: str, ascii_share: float = 0.75) -> None:
    """Reject UTF-16 and UTF-32, recognized by a byte order mark or by the positions of zero bytes.

    Args:
        data: the beginning of a text, or all of it.
        source: the name of its file, for the message.
        ascii_share: smallest fraction of ASCII characters for which zero bytes indicate UTF-16. There each ASCII
            character has one zero byte, and separators show on which side. In UTF-32 it has three.

    Raises:
        UserError: if the data are UTF-16 or UTF-32; the message names the encoding.
    """
    sample = data[: min(SAMPLE, len(data)) // 4 * 4]
    units = max(len(sample) // 4, 1)
    zeros = [sample[i::4].count(0) / units for i in range(4)]
    pairs = Counter(zip(sample[::2], sample[1::2], strict=True))
    little, big = (sum(pairs[pair(code)] for code in SEPARATORS) for pair in (lambda c: (c, 0), lambda c: (0, c)))
    is_encoding = {
        **{encoding: data.startswith(marks) for encoding, marks in BYTE_ORDER_MARKS.items()},
        "UTF-32LE": zeros[3] == 1 and zeros[2] > 0.9 and zeros[0] < 0.1,
        "UTF-32BE": zeros[0] == 1 and zeros[1] > 0.9 and zeros[3] < 0.1,
        "UTF-16LE": zeros[1] + zeros[3] >= 2 * ascii_share and little > 10 * big,
        "UTF-16BE": zeros[0] + zeros[2] >= 2 * ascii_share and big > 10 * little,
    }
    for encoding, matches in is_encoding.items():
        if matches:
            raise UserError(
                f"{source}: is {encoding} text; save it as UTF-8, for instance with `iconv -f {encoding} -t UTF-8`"
            )


def lines_of(text: str) -> list[str]:
    """Split a text at line breaks alone; str.splitlines also splits at other characters within a text."""
    return text.replace("\r\n", "\n").replace("\r", "\n").split("\n")


def local_path(name: str, option: str) -> Path | None:
    """The local path of a model's files; None for a name on the hub.

    A name is a path if it exists or looks like one (`./…`, `/…`, `~…`, `….json`).

    Raises:
        UserError: if the name is empty, or looks like a path that does not exist.
    """
    if not name or name.startswith((".", "/", "~")) or name.endswith(".json") or os.path.lexists(name):
        return existing_path(name, option)
    return None


def content_hash(paths: Iterable[Path]) -> str:
    """Hex SHA-256 of the bytes of all files, in the given order, without their names and dates.

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
    files = f"; name one of its files: {listed(file_names, plain=True)}" if file_names else ""
    raise UserError(f"{source}: is {KINDS.get(kind, 'something else')}, not a file{files}")


def _missing(full: Path) -> str:
    """The reason why a path does not exist: the file, its folder or the target of a link is missing."""
    folder = full.parent
    if full.is_symlink():
        return f"is a link to {os.readlink(full)}, which does not exist"
    if folder.exists() and not folder.is_dir():
        return f"{folder} is a file, not a folder"
    if not folder.is_dir():
        return f"there is no folder {folder}"
    names: list[str] = []
    with suppress(OSError):
        names = [entry.name for entry in folder.iterdir()]
    return f"there is no {full.name!r} in {folder}{nearest(full.name, names)}"


def _reason(error: OSError) -> str:
    return error.strerror or str(error)


def _line(data: bytes, position: int) -> int:
    return data.count(b"\n", 0, position) + 1

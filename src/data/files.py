"""Files that a user names: which of them may be read, their bytes, their text, and their fingerprint."""

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
LONGEST_NAME = 100  # characters; a longer name is none that somebody misspelt
SEPARATORS = (*b"\t\n\r", *range(32, 48))  # spaces and punctuation; with bytes exchanged, characters that are rare
BYTE_ORDER_MARKS = {  # those of UTF-32 first: the mark of UTF-16LE begins the one of UTF-32LE
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
    """A clause ' (did you mean …?)' naming what `name` was probably meant to be, or nothing."""
    if len(name) > LONGEST_NAME:
        return ""
    close = get_close_matches(name, [other for other in known if len(other) <= LONGEST_NAME], n=1)
    return f" (did you mean {close[0]!r}?)" if close else ""


def absolute(path: str | Path, option: str) -> Path:
    """The absolute path of what a user wrote; a relative one starts from the current working directory.

    Args:
        path: as the user wrote it; `~` is the home folder.
        option: the option that held it, such as `data.path`, for the message.

    Raises:
        UserError: the path is empty or has a zero byte, or there is no such home folder.
    """
    if not str(path) or "\0" in str(path):
        raise UserError(f"{option}={str(path)!r}: is no path; give the path of a file or folder")
    try:
        return Path(path).expanduser().absolute()
    except RuntimeError:  # `~name` of a user that does not exist
        raise UserError(f"{option}={path}: there is no such home folder; write the path without ~") from None


def existing(path: str | Path, option: str) -> Path:
    """The absolute path of a file or folder that exists.

    Args:
        path: as for `absolute`.
        option: likewise.

    Raises:
        UserError: it does not exist, which names the nearest entry of its folder; or it cannot be looked up.
    """
    full = absolute(path, option)
    try:
        full.stat()
    except (FileNotFoundError, NotADirectoryError):
        raise UserError(f"{option}={path}: {_missing(full)}") from None
    except OSError as error:
        raise UserError(f"{option}={path}: cannot be read ({_reason(error)})") from None
    return full


def existing_file(path: str | Path, option: str) -> Path:
    """As `existing`, for a file that can be read.

    Raises:
        UserError: there is no file, or it cannot be read.
    """
    full = existing(path, option)
    with opened(full, f"{option}={path}"):
        return full


@contextmanager
def opened(path: Path, source: str | None = None, pipes: bool = False) -> Iterator[IO[bytes]]:
    """The bytes of a file that a user named: the one rule for which files are read.

    Only regular files are read, behind links too. Other kinds may never end, or wait for a writer that never comes.

    Args:
        path: of the file.
        source: what messages call the file; None is its path.
        pipes: also read pipes, such as a shell's `<(…)` and what `/dev/stdin` usually is.

    Raises:
        UserError: the file is of another kind, or the system refuses to open or read it.
    """
    source = source or str(path)
    try:
        _require_readable_kind(path, source, pipes)
        with path.open("rb") as file:
            yield file
    except OSError as error:
        raise UserError(f"{source}: cannot be read ({_reason(error)})") from None


def read_text(path: Path, source: str | None = None, pipes: bool = False) -> str:
    """All text of a file, UTF-8 with or without a byte order mark.

    Args:
        path: as for `opened`.
        source: likewise.
        pipes: likewise.

    Raises:
        UserError: as `opened` and `decode`.
    """
    with opened(path, source, pipes) as file:
        data = file.read()
    return decode(data, source or str(path))


def decode(data: bytes, source: str) -> str:
    """UTF-8, with or without a byte order mark.

    Args:
        data: all bytes of a text.
        source: where they come from, for the message.

    Raises:
        UserError: they are in another encoding, which is named where its byte order mark or its zero bytes show it;
            or they are no text.
    """
    try:
        text, wrong = data.decode("utf-8-sig"), None
    except UnicodeDecodeError as error:
        text, wrong = "", error
    zero = data.find(b"\0")
    if wrong is None and zero < 0:
        return text
    require_one_byte_units(data, source, ascii_share=0.02 if wrong else 0.75)
    if zero >= 0:
        raise UserError(
            f"{source}: byte {zero} (line {_line(data, zero)}) is zero, so this is no text file, or a damaged one; "
            "give a text file in UTF-8, not a spreadsheet or an archive"
        )
    assert wrong is not None
    raise UserError(
        f"{source}: byte {wrong.start} (line {_line(data, wrong.start)}) is not UTF-8; save it as UTF-8, for "
        "instance with `iconv -f WINDOWS-1252 -t UTF-8` if it was written on Windows in a Western language"
    )


def require_one_byte_units(data: bytes, source: str, ascii_share: float = 0.75) -> None:
    """Refuse UTF-16 and UTF-32 where a byte order mark or the places of zero bytes in the first bytes show them.

    Args:
        data: the beginning of a text, or all of it.
        source: as for `decode`.
        ascii_share: of the characters, from which on zero bytes show UTF-16: there each ASCII character has one, and
            separators tell on which side. In UTF-32 each has three.

    Raises:
        UserError: names the encoding.
    """
    sample = data[: min(SAMPLE, len(data)) // 4 * 4]
    units = max(len(sample) // 4, 1)
    zeros = [sample[i::4].count(0) / units for i in range(4)]
    pairs = Counter(zip(sample[::2], sample[1::2], strict=True))
    little, big = (sum(pairs[pair(code)] for code in SEPARATORS) for pair in (lambda c: (c, 0), lambda c: (0, c)))
    signs = {
        **{encoding: data.startswith(marks) for encoding, marks in BYTE_ORDER_MARKS.items()},
        "UTF-32LE": zeros[3] == 1 and zeros[2] > 0.9 and zeros[0] < 0.1,
        "UTF-32BE": zeros[0] == 1 and zeros[1] > 0.9 and zeros[3] < 0.1,
        "UTF-16LE": zeros[1] + zeros[3] >= 2 * ascii_share and little > 10 * big,
        "UTF-16BE": zeros[0] + zeros[2] >= 2 * ascii_share and big > 10 * little,
    }
    for encoding, is_shown in signs.items():
        if is_shown:
            raise UserError(
                f"{source}: is {encoding} text; save it as UTF-8, for instance with `iconv -f {encoding} -t UTF-8`"
            )


def lines_of(text: str) -> list[str]:
    """Only line breaks end a line: str.splitlines would also cut at marks that stand within a text."""
    return text.replace("\r\n", "\n").replace("\r", "\n").split("\n")


def local(name: str, option: str) -> Path | None:
    """The path of a model's files on this machine; None for a name on the hub.

    What exists is a path, and so is what looks like one (`./…`, `/…`, `~…`, `….json`).

    Raises:
        UserError: it looks like a path, but nothing stands there; or it is empty.
    """
    if not name or name.startswith((".", "/", "~")) or name.endswith(".json") or os.path.lexists(name):
        return existing(name, option)
    return None


def content_hash(paths: Iterable[Path]) -> str:
    """Hex SHA-256 over the bytes of all files, in the order given; their names and dates do not count.

    Raises:
        UserError: a file cannot be read.
    """
    total = hashlib.sha256()
    for path in paths:
        single = hashlib.sha256()
        with opened(path) as file:
            while block := file.read(BLOCK):
                single.update(block)
        total.update(single.digest())
    return total.hexdigest()


def _require_readable_kind(path: Path, source: str, pipes: bool) -> None:
    """Raises UserError for anything but a regular file, or a pipe where `pipes` allows it."""
    kind = stat.S_IFMT(path.stat().st_mode)
    if kind == stat.S_IFREG or (pipes and kind == stat.S_IFIFO):
        return
    within: list[str] = []
    if kind == stat.S_IFDIR:
        with suppress(OSError):
            within = sorted(entry.name for entry in path.iterdir() if entry.is_file())
    files = f"; name one of its files: {listed(within, plain=True)}" if within else ""
    raise UserError(f"{source}: is {KINDS.get(kind, 'something else')}, not a file{files}")


def _missing(full: Path) -> str:
    """What is wrong with a path that does not exist: the file, its folder, or the target of a link."""
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

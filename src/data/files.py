"""Files that a user names: found or explained, and fingerprinted by content."""

import hashlib
from collections.abc import Iterable
from difflib import get_close_matches
from pathlib import Path

from src.errors import UserError

BLOCK = 1 << 20  # bytes hashed at a time


def nearest(name: str, known: Iterable[str]) -> str:
    """A clause ' (did you mean …?)' naming what `name` was probably meant to be, or nothing."""
    close = get_close_matches(name, list(known), n=1)
    return f" (did you mean {close[0]!r}?)" if close else ""


def existing(path: str | Path, option: str) -> Path:
    """The absolute path of a file or folder; a relative one starts from the current working directory.

    Args:
        path: as the user wrote it; `~` is the home folder.
        option: the option that held it, such as `data.path`, for the message.

    Raises:
        UserError: nothing stands there; names the nearest entry of that folder.
    """
    full = Path(path).expanduser().absolute()
    if full.exists():
        return full
    folder = full.parent
    if not folder.is_dir():
        raise UserError(f"{option}={path}: there is no folder {folder}")
    beside = nearest(full.name, (entry.name for entry in folder.iterdir()))
    raise UserError(f"{option}={path}: there is no {full.name!r} in {folder}{beside}")


def existing_file(path: str | Path, option: str) -> Path:
    """As `existing`, for what must be a file.

    Raises:
        UserError: nothing stands there, or a folder; names what the folder holds.
    """
    full = existing(path, option)
    if full.is_dir():
        within = sorted(entry.name for entry in full.iterdir() if entry.is_file())
        some = f"; name one of its files: {', '.join(within[:5])}" if within else ""
        raise UserError(f"{option}={path}: is a folder, not a file{some}")
    return full


def local(name: str, option: str) -> Path | None:
    """Where a model's files stand here; None for a name on the hub.

    What exists is a path, and so is what looks like one (`./…`, `/…`, `~…`, `….json`).

    Raises:
        UserError: it looks like a path, but nothing stands there.
    """
    if name.startswith((".", "/", "~")) or name.endswith(".json") or Path(name).exists():
        return existing(name, option)
    return None


def content_hash(paths: Iterable[Path]) -> str:
    """Hex SHA-256 over the bytes of all files, in the order given; their names and dates do not count."""
    total = hashlib.sha256()
    for path in paths:
        one = hashlib.sha256()
        with path.open("rb") as file:
            while block := file.read(BLOCK):
                one.update(block)
        total.update(one.digest())
    return total.hexdigest()

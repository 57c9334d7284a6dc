"""Validate paths from a user, and make them absolute."""

import os
from contextlib import suppress
from pathlib import Path

from src.errors import UserError
from src.misspellings import suggestion


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

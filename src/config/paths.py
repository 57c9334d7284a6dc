"""Make the paths in a configuration absolute, and check the names and the access of output folders."""

import os
import re
from pathlib import Path
from typing import Any

MAX_NAME_BYTES = 200  # leaves space for the file suffix that the program adds
CONTROL = re.compile(r"[\x00-\x1f\x7f]")


def make_paths_absolute(value: Any, key: str = "") -> Any:
    """Return the plain value of `key`, or a whole configuration, with absolute paths.

    If the name of an option ends with `path` and the path does not exist, its value is unchanged: it may be a name on
    the hub. A checkpoint that records absolute paths works from any folder.
    """
    if isinstance(value, dict):
        return {name: make_paths_absolute(item, str(name)) for name, item in value.items()}
    if isinstance(value, list) and key.endswith("path"):
        return [make_paths_absolute(item, key) for item in value]
    if not isinstance(value, str) or not key.endswith(("path", "_dir")):
        return value
    path = Path(value).expanduser().absolute()
    return str(path) if key.endswith("_dir") or path.exists() else value


def require_folder_name(name: str) -> str:
    """Return `name` if it is the name of a folder; otherwise raise a ValueError."""
    if name.strip() in ("", ".", "..") or re.search(r"[/\\]", name) or CONTROL.search(name):
        raise ValueError("must be a folder name without slashes or control characters")
    return require_relative_path(name)


def require_relative_path(path: str) -> str:
    """Return `path` if it is relative and stays inside its folder; otherwise raise a ValueError."""
    if not path.strip() or path.startswith("/") or ".." in path.split("/") or CONTROL.search(path):
        raise ValueError("must be a relative path without .. or control characters")
    if max(len(os.fsencode(name)) for name in path.split("/")) > MAX_NAME_BYTES:
        raise ValueError(f"contains a name longer than {MAX_NAME_BYTES} bytes: shorten it")
    return path


def can_be_written(folder: Path) -> bool:
    """Return whether files can be created in a folder, which may not exist yet."""
    nearest = next(path for path in (folder, *folder.parents) if os.path.lexists(path))
    return nearest.is_dir() and os.access(nearest, os.W_OK | os.X_OK)

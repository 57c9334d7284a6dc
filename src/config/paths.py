"""Make the paths in a configuration absolute, and check the names and the access of output folders."""

import errno
import os
import re
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from omegaconf import DictConfig

from src.config.mistakes import Mistake
from src.config.plain import Unresolved, plain_value, plain_values, value_at
from src.formatting import format_value

MAX_NAME_BYTES = 200  # leaves space for the file suffix that the program adds
MAX_COMPONENT_BYTES = 255  # the limit of file systems for each name in a path
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
    return _require_short_names(name)


def require_relative_path(path: str) -> str:
    """Return `path` if it is relative and stays inside its folder; otherwise raise a ValueError."""
    if not path.strip() or path.startswith("/") or ".." in path.split("/") or CONTROL.search(path):
        raise ValueError("must be a relative path without .. or control characters")
    return _require_short_names(path)


def _require_short_names(path: str) -> str:
    if max(len(name.encode(errors="replace")) for name in path.split("/")) > MAX_NAME_BYTES:
        raise ValueError(f"contains a name longer than {MAX_NAME_BYTES} bytes: shorten it")
    return path


def unwritable_reason(folder: str | Path) -> str | None:
    """Return the reason why a folder cannot be created or written to; None if the folder is writable.

    The nearest existing folder is tested with a temporary file, which is removed.
    """
    if not str(folder).strip():
        return "it is empty"
    if CONTROL.search(str(folder)):
        return "it contains a control character"
    try:
        nearest = Path(folder).expanduser().absolute()
        if any(len(os.fsencode(name)) > MAX_COMPONENT_BYTES for name in nearest.parts):
            return os.strerror(errno.ENAMETOOLONG)
        while not os.path.lexists(nearest):
            nearest = nearest.parent
        if not nearest.is_dir():
            return f"{nearest} is not a folder"
        with tempfile.TemporaryFile(dir=nearest):
            return None
    except OSError as error:
        return error.strerror or str(error)


def hydra_output_mistakes(hydra: DictConfig, *, sweeps: bool) -> Iterator[Mistake]:
    """Find mistakes in the folders and the job name with which Hydra would start a run or a sweep."""
    yield from path_mistakes("hydra.job.name", plain_value(hydra, "job.name"), require_folder_name)
    yield from path_mistakes("hydra.output_subdir", plain_value(hydra, "output_subdir"), require_relative_path)
    key = "hydra.sweep.dir" if sweeps else "hydra.run.dir"
    value = value_at(plain_values(hydra), key.removeprefix("hydra."))
    if isinstance(value, Unresolved):
        reason = "the value is not known yet" if "Incompatible value 'None'" in value.reason else value.reason
        yield Mistake(f"{key}={value.written}", f"cannot be resolved ({reason}): write a path without this reference")
    elif isinstance(value, str) and (obstacle := unwritable_reason(value)):
        yield Mistake(f"{key}={format_value(value)}", f"cannot be written to ({obstacle}): choose another folder")
    if sweeps:
        yield from path_mistakes("hydra.sweep.subdir", plain_value(hydra, "sweep.subdir"), require_relative_path)


def path_mistakes(key: str, value: Any, require: Callable[[str], str]) -> Iterator[Mistake]:
    """Find the mistake in a path or a name that `require` refuses."""
    try:
        if isinstance(value, str):
            require(value)
    except ValueError as error:
        yield Mistake(f"{key}={format_value(repr(value) if CONTROL.search(value) else value)}", str(error))


def output_folder(hydra: DictConfig, *, sweeps: bool) -> str | None:
    """Return the folder of the run or of the sweep; None if an interpolation in it fails."""
    folder = plain_value(hydra, "sweep.dir" if sweeps else "run.dir")
    return None if folder is None else str(folder)

"""Make the paths in a configuration absolute, and check its paths, its names and the access to output folders."""

import errno
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from omegaconf import DictConfig

from src.config.keys import options_in
from src.config.mistakes import Mistake
from src.config.plain import Unresolved, plain_value, plain_values, value_at
from src.formatting import format_value

PATH_ENDS = ("path", "dir", "folder", "file", "pictures")  # ends of the names of options that contain a path
OUTPUT_FOLDERS = ("output_dir", "default_root_dir", "dirpath", "save_dir", "folder", "pictures")
INPUT_NODES = ("data.", "model.")  # their paths are inputs, except data.cache_dir, which is checked when it is used
MAX_NAME_BYTES = 200  # leaves space for the file suffix that the program adds
MAX_COMPONENT_BYTES = 255  # the limit of file systems for each name in a path
MAX_TAG_LENGTH = 64  # characters, the limit of W&B


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


def output_mistakes(values: dict[str, Any]) -> Iterator[Mistake]:
    """Find invalid paths and names in the plain values of a configuration without the node `hydra`."""
    yield from _paths(values)
    yield from _plain_name("task_name", values.get("task_name"))
    for tag in values["tags"] if isinstance(values.get("tags"), list) else ():
        yield from _tag(tag)
    for group, names in (("callbacks", ("filename",)), ("logger", ("name", "version"))):
        nodes = values[group] if isinstance(values.get(group), dict) else {}
        for node, options in nodes.items():
            for name in names if isinstance(options, dict) else ():
                yield from relative_path_mistakes(f"{group}.{node}.{name}", options.get(name), empty=group == "logger")
    yield from _shared_files(values.get("callbacks"))


def hydra_output_mistakes(hydra: DictConfig, *, sweeps: bool) -> Iterator[Mistake]:
    """Find mistakes in the folders and the job name with which Hydra would start a run or a sweep."""
    yield from _plain_name("hydra.job.name", plain_value(hydra, "job.name"))
    yield from relative_path_mistakes("hydra.output_subdir", plain_value(hydra, "output_subdir"))
    key = "hydra.sweep.dir" if sweeps else "hydra.run.dir"
    value = value_at(plain_values(hydra), key.removeprefix("hydra."))
    if isinstance(value, Unresolved):
        reason = "the value is not known yet" if "Incompatible value 'None'" in value.reason else value.reason
        yield Mistake(f"{key}={value.written}", f"cannot be resolved ({reason}): write a path without this reference")
    folder = output_folder(hydra, sweeps=sweeps)
    yield from _empty(key, folder)
    yield from _unwritable(key, folder)
    if sweeps:
        yield from relative_path_mistakes("hydra.sweep.subdir", plain_value(hydra, "sweep.subdir"))


def output_folder(hydra: DictConfig, *, sweeps: bool) -> str | None:
    """Return the folder of the run or of the sweep; None if an interpolation in it fails."""
    folder = plain_value(hydra, "sweep.dir" if sweeps else "run.dir")
    return None if folder is None else str(folder)


def unwritable_reason(folder: Path) -> str | None:
    """Return the reason why a folder cannot be created or written to; None if the folder is writable.

    The nearest existing folder is tested with a temporary file, which is removed.
    """
    try:
        nearest = folder.expanduser().absolute()
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


def _shared_files(callbacks: Any) -> Iterator[Mistake]:
    """Find callbacks that would replace the checkpoint that another callback saved."""
    owners: dict[tuple[str, str], str] = {}
    for name, options in callbacks.items() if isinstance(callbacks, dict) else ():
        file = options.get("filename") if isinstance(options, dict) else None
        if not isinstance(file, str):
            continue
        owner = owners.setdefault((str(options.get("dirpath")), os.path.normpath(file)), name)
        nodes = (options, callbacks[owner])
        if owner != name and any(node.get("enable_version_counter") is False for node in nodes):
            key = f"callbacks.{name}.filename={format_value(file)}"
            yield Mistake(key, f"is also the file of callbacks.{owner}: choose another name")


def _paths(values: dict[str, Any]) -> Iterator[Mistake]:
    """Find invalid paths; a folder inside an unwritable folder is not reported separately."""
    unwritable: list[str] = []
    ordered = {"paths": None, **values}  # first the folders in `paths`, which contain other folders
    for path, value in options_in(ordered, ()).items():
        name = path.rpartition(".")[2]
        if isinstance(value, str) and name.endswith(PATH_ENDS):
            yield from _empty(path, value)
            is_inside = any(value.startswith(f"{other}/") or value == other for other in unwritable)
            if name in OUTPUT_FOLDERS and not path.startswith(INPUT_NODES) and not is_inside:
                for mistake in _unwritable(path, value):
                    unwritable.append(value)
                    yield mistake


def _empty(key: str, value: Any) -> Iterator[Mistake]:
    if isinstance(value, str) and not value.strip():
        yield Mistake(f"{key}=", "is empty: write a path, or remove the option")
    elif isinstance(value, str) and not _is_one_line(value):
        yield Mistake(f"{key}={format_value(value)!r}", "contains a control character: remove it")


def _unwritable(key: str, value: Any) -> Iterator[Mistake]:
    if isinstance(value, str) and value.strip() and _is_one_line(value) and (reason := unwritable_reason(Path(value))):
        yield Mistake(f"{key}={format_value(value)}", f"cannot be written to ({reason}): choose another folder")


def _plain_name(key: str, value: Any) -> Iterator[Mistake]:
    if not isinstance(value, str):
        return
    if value.strip() in ("", ".", "..") or "/" in value or "\\" in value or not _is_one_line(value):
        yield Mistake(f"{key}={_quoted(value)}", "must be a folder name without slashes or control characters")
    elif len(value.encode(errors="replace")) > MAX_NAME_BYTES:
        yield Mistake(f"{key}={format_value(value)}", f"is longer than {MAX_NAME_BYTES} bytes: choose a shorter name")


def relative_path_mistakes(key: str, value: Any, *, empty: bool = False) -> Iterator[Mistake]:
    """Find mistakes in a path that must be relative and stay inside its folder; `empty` allows an empty path."""
    if not isinstance(value, str) or (empty and not value):
        return
    steps = value.split("/")
    if not value.strip() or value.startswith("/") or ".." in steps or not _is_one_line(value):
        yield Mistake(f"{key}={_quoted(value)}", "must be a relative path without .. or control characters")
    elif max(len(step.encode(errors="replace")) for step in steps) > MAX_NAME_BYTES:
        yield Mistake(f"{key}={format_value(value)}", f"contains a name longer than {MAX_NAME_BYTES} bytes: shorten it")


def _tag(tag: Any) -> Iterator[Mistake]:
    if isinstance(tag, str) and not (0 < len(tag) <= MAX_TAG_LENGTH and _is_one_line(tag)):
        yield Mistake(f"tags=[{_quoted(tag)}]", f"must be one line of 1 to {MAX_TAG_LENGTH} characters")


def _is_one_line(text: str) -> bool:
    return all(character >= " " and character != "\x7f" for character in text)


def _quoted(text: str) -> str:
    return format_value(text if _is_one_line(text) else repr(text))

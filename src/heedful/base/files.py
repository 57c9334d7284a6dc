"""Write, lock and read files: single files are written through `replace_atomically`."""

import csv
import fcntl
import io
import os
import secrets
import zipfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from glob import escape
from itertools import chain, count
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, TypeVar

import yaml
from pydantic import TypeAdapter, ValidationError

from heedful.base.errors import UserError

if TYPE_CHECKING:
    import numpy as np

YAML_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # not every build of PyYAML has the faster C loader
Value = TypeVar("Value")
_adapter: Callable[[Any], TypeAdapter[Any]] = cache(TypeAdapter)  # creating one takes longer than reading a file


@contextmanager
def replace_atomically(path: Path) -> Iterator[Path]:
    """Yield an empty temporary file in the folder of `path`, which is created; after the block, it replaces `path`.

    A reader sees either the previous file or the complete new file. After an exception in the block, the previous file
    is unchanged, and the temporary file is removed. No link is followed: if `path` is a link, the link is replaced.
    Temporary files for `path` that a killed process left are removed; a living one has locked its own.

    Raises:
        OSError: if the file cannot be written; its `filename` is set.
        UserError: if the folder is a link, which could lead anywhere in a folder from another person.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    require_no_link(path.parent)
    for abandoned in path.parent.glob(f".{escape(path.name)}.????????.part"):
        with suppress(OSError):
            if abandoned.is_file():
                with abandoned.open("rb") as other:
                    if _lock(other):
                        abandoned.unlink()
    part = path.with_name(f".{path.name}.{secrets.token_hex(4)}.part")
    try:
        with part.open("xb") as file:
            _lock(file)
            yield part
            os.replace(part, path)
    except OSError as error:  # the error for a full disk has no file name
        if error.filename in (None, str(part)):
            error.filename = str(path)
        raise
    finally:
        with suppress(OSError):  # a file system that only can be read
            part.unlink()


def _lock(file: IO[bytes]) -> bool:
    """Lock a file until it is closed; return whether no other process has, on a file system with locks."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def remove_parts(folder: Path, pattern: str = "**/") -> None:
    """Remove the temporary files that a killed process left in the folders below `folder` that match a pattern."""
    for part in folder.glob(f"{pattern}.*.????????.part"):
        part.unlink()


def require_no_link(folder: Path) -> None:
    """Check that a folder in which files are written is not a link."""
    if folder.is_symlink():
        raise UserError(f"{folder} is a link to another folder: name that folder instead, or remove the link")


def write_text(path: Path, text: str) -> None:
    """Write a text file atomically."""
    with replace_atomically(path) as part, part.open("w", encoding="utf-8", newline="") as file:
        file.write(text)


def csv_line(values: Iterable[Any], delimiter: str = ",") -> str:
    """Format a line of a CSV file; a field with the delimiter, a double quote or any line break is quoted."""
    line = io.StringIO()
    # with "\n", old versions do not quote a lone "\r"
    csv.writer(line, delimiter=delimiter, lineterminator="\r\n").writerow(values)
    return line.getvalue()[:-2] + "\n"


def allow_long_fields() -> None:
    """Let CSV files that are read have texts beyond Python's limit of 131,072 characters for a field."""
    csv.field_size_limit(2**31 - 1)


def number_names(names: Iterable[str], taken: Iterable[str]) -> list[str]:
    """Return the names of further columns of a table, numbered from 2 where a column of the table has the name."""
    used, new = set(taken), list[str]()
    for name in names:
        numbered = chain([name], (f"{name}_{number}" for number in count(2)))
        new.append(next(name for name in numbered if name not in used))
        used.add(new[-1])
    return new


def write_json(path: Path, record: Any) -> None:
    """Write a dataclass or pydantic model as a JSON file, atomically."""
    write_text(path, _adapter(type(record)).dump_json(record, indent=2).decode())


class YamlDumper(getattr(yaml, "CSafeDumper", yaml.SafeDumper)):  # type: ignore[misc]  # in C, ten times as fast
    """Writes plain values as OmegaConf does, which reads more texts as numbers than other programs."""

    def ignore_aliases(self, data: Any) -> bool:
        return True

    def represent_str(self, data: str) -> yaml.ScalarNode:
        is_number = data in ("y", "Y", "n", "N")
        with suppress(ValueError):
            float(data)
            is_number = True
        node: yaml.ScalarNode = self.represent_scalar("tag:yaml.org,2002:str", data, "'" if is_number else None)
        return node


YamlDumper.add_representer(str, YamlDumper.represent_str)


def write_yaml(path: Path, config: Any) -> None:
    """Write a configuration of plain values."""
    options: Any = {"default_flow_style": False, "allow_unicode": True, "sort_keys": False}
    write_text(path, yaml.dump(config, Dumper=YamlDumper, **options))


def validate(value: Any, kind: type[Value]) -> Value:
    """Return JSON as bytes, or another plain value, as a value of a type that pydantic knows, such as a dataclass.

    Unknown keys are ignored.

    Raises:
        ValueError: if it is not JSON, or a value has the wrong type; the message names the first such value.
    """
    check = _adapter(kind).validate_json if isinstance(value, bytes) else _adapter(kind).validate_python
    try:
        record: Value = check(value, strict=True)
    except ValidationError as error:
        raise ValueError(first_mistake(error)) from error
    return record


def first_mistake(error: ValidationError) -> str:
    """Describe the first mistake that pydantic found, such as `best.epoch: input should be a valid integer`."""
    mistake = error.errors(include_url=False)[0]
    path = ".".join(map(str, mistake["loc"]))
    message = mistake["msg"].removeprefix("Value error, ")
    message = message[0].lower() + message[1:]
    return f"{path}: {message}" if path else message


def write_arrays(path: Path, **arrays: Any) -> None:
    """Write arrays to a compressed .npz file, atomically."""
    import numpy as np  # takes longer than a command without arrays should

    with replace_atomically(path) as part, part.open("wb") as file:
        np.savez_compressed(file, **arrays)


def read_arrays(path: Path) -> dict[str, "np.ndarray"]:
    """Return the arrays of an .npz file by name, after verifying their checksums.

    Raises:
        OSError: if the file cannot be opened.
        ValueError: if the file is damaged or contains objects.
    """
    import numpy as np

    with path.open("rb") as file:
        try:
            with zipfile.ZipFile(file) as archive:  # `np.load` does not verify all checksums
                members = {name.removesuffix(".npy"): io.BytesIO(archive.read(name)) for name in archive.namelist()}
            return {name: np.lib.format.read_array(member, allow_pickle=False) for name, member in members.items()}
        except Exception as error:  # zipfile, zlib and NumPy raise many types for a damaged file
            raise ValueError(f"is damaged: {error or type(error).__name__}") from error


@contextmanager
def lock_folder(folder: Path, timeout: float = 0.0) -> Iterator[bool]:
    """Lock the folder of a run during the block, and yield whether the lock was acquired.

    Args:
        timeout: seconds to wait while another process holds the lock.
    """
    from filelock import FileLock, Timeout  # takes longer than a command without a run should

    path = folder / ".hydra" / "lock"
    path.parent.mkdir(parents=True, exist_ok=True)
    require_no_link(path.parent)
    lock = FileLock(path)
    with suppress(Timeout):
        lock.acquire(timeout)
    try:
        yield lock.is_locked
    finally:
        lock.release()

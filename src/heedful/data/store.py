"""The cache on disk: folders that one job builds and all jobs share; their arrays are mapped into memory."""

import hashlib
import json
import logging
import os
import secrets
import shutil
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

import filelock
import xxhash

from heedful import runtime
from heedful.base.errors import UserError
from heedful.data.text_files import content_hash

log = logging.getLogger(__name__)
T = TypeVar("T")
CHECKSUMS = "checksums.json"
DAMAGE = (OSError, ValueError, KeyError, TypeError, AttributeError, EOFError)  # pyarrow's errors are ValueErrors


def code_version(*classes: type) -> str:
    """Return a hash of the files on which cached data depend: reading, labels, and the modules of these classes."""
    modules = (sys.modules.get(cls.__module__) for cls in classes)
    module_files = {Path(file) for module in modules if (file := getattr(module, "__file__", None))}
    packages = (Path(runtime.__file__).with_name(name) for name in ("data", "tasks"))
    package_files = {path for folder in packages for path in folder.rglob("*") if path.suffix in (".py", ".npz")}
    return content_hash(sorted(module_files | package_files | {Path(runtime.__file__)}))


def hash_text(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def load_or_build(path: Path, load: Callable[[Path], T], build: Callable[[Path], None]) -> T:
    """Return `load(path)`, the content of a folder in the cache; if it is missing or damaged, build it first.

    The folder appears only when it is complete. If several jobs need it, one job builds it while the others wait.
    Another file of the folder has the checksums of its files, which are verified every time: even a copy in the page
    cache may be damaged, and hashing is faster than any other use of the files.

    Args:
        build: writes the files into an empty folder.
    """
    with suppress(*DAMAGE):
        return _load_verified(load, path)
    part = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with filelock.FileLock(path.with_name(f"{path.name}.lock")):
            try:
                return _load_verified(load, path)
            except DAMAGE as error:
                if os.path.lexists(path):
                    log.warning("The cached data in %s are damaged (%s) and will be rebuilt", path, error)
            part.mkdir()
            build(part)
            (part / CHECKSUMS).write_text(json.dumps({file.name: _checksum(file) for file in part.iterdir()}))
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            else:
                path.unlink(missing_ok=True)
            part.rename(path)
    except OSError as error:
        raise UserError(
            f"data.cache_dir={path.parent}: the data cannot be read, or not be written to this folder ({error}); free "
            "disk space, or choose another folder"
        ) from error
    finally:
        shutil.rmtree(part, ignore_errors=True)
    return load(path)


def _load_verified(load: Callable[[Path], T], path: Path) -> T:
    for name, checksum in json.loads((path / CHECKSUMS).read_text()).items():
        if _checksum(path / name) != checksum:
            raise ValueError(f"the checksum of {name} does not match")
    return load(path)


def _checksum(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, xxhash.xxh3_128).hexdigest()

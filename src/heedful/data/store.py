"""The cache on disk: folders that one job builds and all jobs share; their arrays are mapped into memory."""

import logging
import os
import secrets
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import filelock

from heedful.base.errors import UserError
from heedful.data.text_files import content_hash

log = logging.getLogger(__name__)
T = TypeVar("T")


def code_version(*classes: type) -> str:
    """Return a hash of the files on which cached data depend: this package and the modules that define `classes`."""
    modules = (sys.modules.get(cls.__module__) for cls in classes)
    module_files = {Path(file) for module in modules if (file := getattr(module, "__file__", None))}
    package_files = {path for path in Path(__file__).parent.rglob("*") if path.suffix in (".py", ".npz")}
    return content_hash(sorted(module_files | package_files))


def load_or_build(path: Path, load: Callable[[Path], T], build: Callable[[Path], None]) -> T:
    """Return `load(path)`, the content of a folder in the cache; if it is missing or damaged, build it first.

    If several jobs need the folder, one job builds it while the others wait. It appears only when it is complete.

    Args:
        build: writes the files into an empty folder.
    """
    if (content := _try(load, path)) is not None:
        return content
    part = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with filelock.FileLock(path.with_name(f"{path.name}.lock")):
            if (content := _try(load, path)) is not None:
                return content
            part.mkdir()
            build(part)
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


def _try(load: Callable[[Path], T], path: Path) -> T | None:
    """Return `load(path)`; None if the folder does not exist or is damaged."""
    try:
        return load(path)
    except (OSError, ValueError, KeyError, TypeError, EOFError) as error:  # pyarrow's errors are ValueErrors
        if os.path.lexists(path):
            log.warning("The cached data in %s are damaged (%s) and will be rebuilt", path, error)
        return None

"""The disk cache of tokenized data sets: one file per data set, which is mapped into memory and shared by all jobs."""

import json
import logging
import os
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import filelock
import numpy as np

from src.data.files import content_hash
from src.data.spool import explain_errors
from src.data.tokenized import SPLITS, TokenizedCorpus, TokenizedSplit
from src.files import replace_atomically
from src.files.arrays import map_arrays, write_arrays

log = logging.getLogger(__name__)
ARRAYS = ("tokens", "offsets", "labels", "rows", "digests", "counts")  # the arrays of a TokenizedSplit


def code_version(*classes: type) -> str:
    """Return a hash of the files on which the tokens depend: this package and the modules that define `classes`."""
    modules = (sys.modules.get(cls.__module__) for cls in classes)
    module_files = {Path(file) for module in modules if (file := getattr(module, "__file__", None))}
    package_files = {path for path in Path(__file__).parent.rglob("*") if path.suffix in (".py", ".npz")}
    return content_hash(sorted(module_files | package_files))


def load_or_build(
    folder: Path, key: str, build: Callable[[], TokenizedCorpus], alias: Callable[[TokenizedCorpus], str]
) -> TokenizedCorpus:
    """Return the data in `<folder>/<key>.npz`; if this file does not exist, call `build` and write the file.

    If several jobs need the file, one job writes it while the others wait. A damaged file is replaced. If the file
    system supports hard links, the new file is also available under the key `alias(data)`.

    Raises:
        UserError: if the file cannot be locked or written, for example because the disk is full.
    """
    path = folder / f"{key}.npz"
    if data := _read(path):
        return data
    with explain_errors(folder):
        lock = filelock.FileLock(path.with_suffix(".lock"))
        folder.mkdir(parents=True, exist_ok=True)
        lock.acquire()
    try:
        if (data := _read(path)) is None:
            data = build()
            with explain_errors(folder):
                _write(path, data)
                with suppress(OSError):  # the file system has no hard links, or the alias exists
                    os.link(path, folder / f"{alias(data)}.npz")
            data = _read(path) or data  # use the memory-mapped arrays of the file, and free the arrays in memory
        return data
    finally:
        lock.release()


def _write(path: Path, data: TokenizedCorpus) -> None:
    metadata = {
        "tokenizer": data.tokenizer,
        "class_names": data.class_names,
        "origins": {name: split.origin for name, split in data.splits.items()},
    }
    arrays = {f"{name}.{array}": getattr(split, array) for name, split in data.splits.items() for array in ARRAYS}
    with replace_atomically(path) as part, part.open("wb") as file:
        write_arrays(file, {"facts": np.frombuffer(json.dumps(metadata).encode(), dtype=np.uint8), **arrays})


def _read(path: Path) -> TokenizedCorpus | None:
    """Return the data in the file, or None if the file does not exist or is damaged."""
    if not os.path.isfile(path):  # Path.is_file() raises in an unreadable folder
        return None
    try:
        arrays = map_arrays(path)
        metadata = json.loads(arrays["facts"].tobytes())
        splits = {
            name: TokenizedSplit(
                **{array: arrays[f"{name}.{array}"] for array in ARRAYS}, origin=metadata["origins"][name]
            )
            for name in SPLITS
        }
        return TokenizedCorpus(splits, metadata["tokenizer"], tuple(metadata["class_names"]))
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError) as error:
        log.warning("The cached data in %s are damaged (%s) and will be rebuilt", path, error)
        return None


def default_folder() -> str:
    """Return the path of the folder `heed` in the user's cache folder; the path may start with `~`.

    A relative path in XDG_CACHE_HOME is ignored, as the XDG specification requires.
    """
    folder = os.environ.get("XDG_CACHE_HOME", "")
    return os.path.join(folder if os.path.isabs(folder) else "~/.cache", "heed")

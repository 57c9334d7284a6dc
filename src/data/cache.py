"""Tokenized data sets on disk: written once, whatever the number of runs and of parallel jobs."""

import json
import logging
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import filelock
import numpy as np

from src.data.files import content_hash
from src.errors import UserError
from src.files.arrays import read_arrays

log = logging.getLogger(__name__)
SPLITS = ("train", "val", "test")
ARRAYS = ("tokens", "offsets", "labels", "rows")  # of a TokenizedSplit


@dataclass(frozen=True)
class TokenizedSplit:
    """One split, tokenized but not truncated, so that `max_length` and `keep` may change freely."""

    tokens: np.ndarray  # flat int32
    offsets: np.ndarray  # n+1 int64, into tokens
    labels: np.ndarray  # n int64
    rows: np.ndarray  # n int64, where each text stands in the source's split `origin`
    origin: str  # train, val or test


@dataclass(frozen=True)
class TokenizedCorpus:
    """All splits and what reads them; holds no text."""

    train: TokenizedSplit
    val: TokenizedSplit
    test: TokenizedSplit
    tokenizer: str  # JSON
    class_names: tuple[str, ...]


def code_version(*classes: type) -> str:
    """Hash of the source of this package and of the modules of `classes`, on which the tokens depend too."""
    modules = (sys.modules.get(some.__module__) for some in classes)
    theirs = {Path(file) for module in modules if (file := getattr(module, "__file__", None))}
    return content_hash(sorted(theirs | set(Path(__file__).parent.rglob("*.py"))))


def cached(
    folder: Path, key: str, build: Callable[[], TokenizedCorpus], alias: Callable[[TokenizedCorpus], str]
) -> TokenizedCorpus:
    """What `build` returns, from `<folder>/<key>.npz` if a run before has built it.

    Of several jobs at once one builds and the others wait. A file that does not read back is built anew. The same
    file is found under the key that `alias` gives, too.

    Raises:
        UserError: the folder cannot be written to, or its disk is full.
    """
    path = folder / f"{key}.npz"
    if found := _read(path):
        return found
    with _explained(folder):
        lock = filelock.FileLock(path.with_suffix(".lock"))
        folder.mkdir(parents=True, exist_ok=True)
        lock.acquire()
    try:
        if (found := _read(path)) is None:
            found = build()
            with _explained(folder):
                _write(path, found)
                _link(path, folder / f"{alias(found)}.npz")
        return found
    finally:
        lock.release()


@contextmanager
def _explained(folder: Path) -> Iterator[None]:
    """Turn the errors of a full disk, a forbidden folder and the like into one message with the remedy."""
    try:
        yield
    except (OSError, NotImplementedError) as error:  # the second where the file system has no locks
        file = getattr(error, "filename2", None) or getattr(error, "filename", None)
        place = f": {file}" if file and Path(file) != folder else ""
        raise UserError(
            f"data.cache_dir={folder}: cannot keep the tokenized data there "
            f"({getattr(error, 'strerror', None) or error}{place}). Make room, or choose another folder"
        ) from error


def _write(path: Path, data: TokenizedCorpus) -> None:
    """Whole or not at all: written beside `path`, then moved there."""
    facts = {
        "tokenizer": data.tokenizer,
        "class_names": data.class_names,
        "origins": {split: getattr(data, split).origin for split in SPLITS},
    }
    arrays = {f"{split}.{name}": getattr(getattr(data, split), name) for split in SPLITS for name in ARRAYS}
    temporary = path.with_suffix(".tmp")  # one name will do: only the holder of the lock writes
    try:
        with temporary.open("wb") as file:
            np.savez(file, facts=np.frombuffer(json.dumps(facts).encode(), dtype=np.uint8), **arrays)
        os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def _link(path: Path, alias: Path) -> None:
    """Give a file a second name, where the disk allows and that is free."""
    with suppress(OSError):
        os.link(path, alias)


def _read(path: Path) -> TokenizedCorpus | None:
    """What stands in the file; None if there is none, or it is damaged (the zip format keeps checksums)."""
    if not os.path.isfile(path):  # in a folder that cannot be read, Path.is_file() raises
        return None
    try:
        arrays = read_arrays(path)
        facts = json.loads(arrays["facts"].tobytes())
        parts = {
            split: TokenizedSplit(
                **{name: arrays[f"{split}.{name}"] for name in ARRAYS}, origin=facts["origins"][split]
            )
            for split in SPLITS
        }
        return TokenizedCorpus(**parts, tokenizer=facts["tokenizer"], class_names=tuple(facts["class_names"]))
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError) as error:
        log.warning("The cached data in %s are damaged (%s) and are built anew", path, error)
        return None

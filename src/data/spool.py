"""Temporary files for texts and tokens that may not fit into memory."""

import os
import tempfile
import weakref
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, overload

import numpy as np

from src.errors import UserError


class Spool:
    """Bytes in a temporary file without a name, which is deleted together with this object.

    Args:
        folder: folder for the file; created if it does not exist.

    Raises:
        UserError: if the folder is not writable; also while bytes are written, if the disk is full.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        with explain_errors(folder):
            folder.mkdir(parents=True, exist_ok=True)
            self._file = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115
        weakref.finalize(self, self._file.close)

    def append(self, data: bytes) -> None:
        with explain_errors(self._folder):
            self._file.write(data)

    def flush(self) -> None:
        """Write the buffered bytes to the file; must be called between the last `append` and the first `read`."""
        with explain_errors(self._folder):
            self._file.flush()

    def read(self, start: int, size: int) -> bytes:
        return os.pread(self._file.fileno(), size, start)

    def array(self, dtype: Any) -> np.ndarray:
        """Return all bytes as a one-dimensional array, for which the file is mapped into memory."""
        self.flush()
        is_empty = os.fstat(self._file.fileno()).st_size == 0  # an empty file cannot be mapped
        return np.empty(0, dtype) if is_empty else np.memmap(self._file, dtype, "c")


class StoredTexts(Sequence[str]):
    """Texts in a temporary file in `folder`; each text takes 16 bytes of memory.

    Raises:
        UserError: if the file cannot be written.
        UnicodeEncodeError: if a text contains an unpaired surrogate.
    """

    def __init__(self, folder: Path, texts: Iterable[str]) -> None:
        self._spool = Spool(folder)
        sizes = np.fromiter(map(self._append, texts), dtype=np.int64)
        self._spool.flush()
        self._stops = sizes.cumsum()
        self._starts = self._stops - sizes

    def _append(self, text: str) -> int:
        data = text.encode()
        self._spool.append(data)
        return len(data)

    def __len__(self) -> int:
        return len(self._starts)

    @overload
    def __getitem__(self, i: int) -> str: ...
    @overload
    def __getitem__(self, i: slice) -> list[str]: ...
    def __getitem__(self, i: int | slice) -> str | list[str]:
        if isinstance(i, slice):
            return [self[j] for j in range(*i.indices(len(self)))]
        start = int(self._starts[i])
        return self._spool.read(start, int(self._stops[i]) - start).decode()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and list(self) == list(other)

    def take(self, rows: np.ndarray) -> "StoredTexts":
        """Return the texts of these rows, which remain in the same temporary file."""
        texts = object.__new__(StoredTexts)
        texts._spool, texts._starts, texts._stops = self._spool, self._starts[rows], self._stops[rows]
        return texts


@contextmanager
def explain_errors(folder: Path) -> Iterator[None]:
    """Convert write errors, such as a full disk or missing permissions, to a UserError that states the remedy."""
    try:
        yield
    except (OSError, NotImplementedError) as error:  # NotImplementedError: the file system has no locks
        file = getattr(error, "filename2", None) or getattr(error, "filename", None)
        place = f": {file}" if file and Path(file) != folder else ""
        raise UserError(
            f"data.cache_dir={folder}: cannot write the tokenized data to this folder "
            f"({getattr(error, 'strerror', None) or error}{place}). Free disk space, or choose another folder"
        ) from error

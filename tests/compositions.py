"""What config files compose, kept for all processes of a test session; composing a choice of files takes 0.2 s."""

import hashlib
import os
from contextlib import suppress
from pathlib import Path
from typing import Any

from hydra.core.utils import setup_globals

from heedful.base.files import replace_atomically
from heedful.config import compose

FOLDER = "HEEDFUL_TEST_COMPOSITIONS"  # the variable that names the folder


class _OfFiles(dict[tuple[str, ...], bytes]):
    """The compositions of a state of the files, by the choices; those of other processes are read from a folder."""

    def __init__(self, folder: Path, state: tuple[Any, ...]) -> None:
        super().__init__()
        self._folder, self._state = folder, state

    def __reduce__(self) -> tuple[Any, ...]:
        return _OfFiles, (self._folder, self._state)  # to the processes that plan a sweep

    def _file(self, lines: object) -> Path:
        return self._folder / hashlib.sha256(repr((self._state, lines)).encode()).hexdigest()

    def __contains__(self, lines: object) -> bool:
        return super().__contains__(lines) or self._file(lines).exists()

    def __missing__(self, lines: tuple[str, ...]) -> bytes:
        content = self._file(lines).read_bytes()
        super().__setitem__(lines, content)
        return content

    def __setitem__(self, lines: tuple[str, ...], content: bytes) -> None:
        super().__setitem__(lines, content)
        with suppress(OSError), replace_atomically(self._file(lines)) as part:  # a test fills the disk
            part.write_bytes(content)


class _Compositions(dict[tuple[Any, ...], _OfFiles]):
    def setdefault(self, state: tuple[Any, ...], _: object = None) -> _OfFiles:  # type: ignore[override]
        if state not in self:
            self[state] = _OfFiles(Path(os.environ[FOLDER]), state)
        return self[state]


def share_compositions() -> None:
    """Read and write, in this process, the compositions of all processes with the same FOLDER."""
    if FOLDER in os.environ:
        setup_globals()  # registers the resolver hydra:, as a composition in this process would
        compose.MERGED = _Compositions()  # type: ignore[assignment]

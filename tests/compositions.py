"""What config files compose, kept for all processes of a test session; composing a choice of files takes 0.2 s."""

import hashlib
import os
import pickle
from contextlib import suppress
from pathlib import Path
from typing import Any

from hydra._internal import defaults_list
from hydra._internal.sources_registry import SourcesRegistry
from hydra.core.plugins import Plugins
from hydra.core.utils import setup_globals
from hydra.plugins.config_source import ConfigResult

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


LOADED: dict[tuple[Any, ...], bytes] = {}
Plugins.instance()  # loads the classes of sources
SOURCES: list[Any] = [SourcesRegistry.instance().resolve(scheme) for scheme in ("file", "pkg")]
load_config = {source: source.load_config for source in SOURCES}


def _load_config(source: Any, config_path: str) -> ConfigResult:
    """Return what Hydra reads from a file, whose parsing takes a third of a composition."""
    load, state = load_config[type(source)], (source.provider, source.path, config_path)
    if source.scheme() == "file":  # else of Hydra, which no test changes
        file = Path(source.path, source._normalize_file_name(config_path))
        if not file.is_file():
            return load(source, config_path)
        state = (*state, file.stat().st_mtime_ns)
    if state not in LOADED:
        LOADED[state] = pickle.dumps(load(source, config_path))
    result: ConfigResult = pickle.loads(LOADED[state])
    return result


create_interpolation_map = defaults_list._create_interpolation_map


def _create_interpolation_map(overrides: Any, defaults: Any, self_added: bool) -> Any:
    """Return what the names of files in a list of defaults refer to; it takes a quarter of a composition."""
    if any("${" in str(vars(default)) for default in defaults):
        return create_interpolation_map(overrides, defaults, self_added)
    return None


def share_compositions() -> None:
    """Read and write, in this process, the compositions of all processes with the same FOLDER."""
    if FOLDER in os.environ:
        setup_globals()  # registers the resolver hydra:, as a composition in this process would
        compose.MERGED = _Compositions()  # type: ignore[assignment]
        for source in SOURCES:
            source.load_config = _load_config
        defaults_list._create_interpolation_map = _create_interpolation_map

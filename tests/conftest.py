"""Settings and fixtures for all tests: offline libraries, one torch thread per process, and repeatable examples."""

import os
import signal

os.environ.update(
    WANDB_MODE="offline", WANDB_SILENT="true", HF_HUB_OFFLINE="1", HF_DATASETS_OFFLINE="1", MPLBACKEND="Agg"
)
# torch reads this at import. The tensors of the tests are so small that starting threads takes longer than computing.
os.environ["OMP_NUM_THREADS"] = "1"
# Where this is set, each interpreter that a test starts would compile all of Heedful again.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

import gc
import hashlib
import json
import logging
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from functools import cache, partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

import hypothesis
import pytest
from filelock import FileLock

from heedful.base.lightning import import_lightning
from heedful.base.process import GC_THRESHOLDS
from heedful.config import compose
from tests import forks
from tests.compositions import FOLDER, share_compositions

signal.signal(signal.SIGHUP, signal.SIG_DFL)  # under nohup, the processes that tests start would ignore it

hypothesis.settings.register_profile("heedful", deadline=None, derandomize=True)
hypothesis.settings.load_profile("heedful")


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Start one server of forks for all workers."""
    node.workerinput["server"] = forks.start_server()


def pytest_configure(config: pytest.Config) -> None:
    if hasattr(config, "workerinput"):
        forks.use_server(config.workerinput["server"])


def pytest_collectstart() -> None:
    """Import Lightning before a test does, in less time; the process that only distributes tests collects none."""
    import_lightning()
    gc.disable()


def pytest_collection_finish() -> None:
    """Spare the garbage collector the imported modules, which took a twelfth of the time of the tests."""
    gc.freeze()
    gc.enable()
    gc.set_threshold(*GC_THRESHOLDS)


@pytest.fixture(autouse=True)
def close_log_files() -> Iterator[None]:
    """Close the log file that Hydra opens for a run in this process; otherwise it causes a warning in a later test."""
    yield
    root = logging.getLogger()
    for handler in [handler for handler in root.handlers if type(handler) is logging.FileHandler]:
        root.removeHandler(handler)
        handler.close()


@pytest.fixture(autouse=True, scope="session")
def facts_in_memory() -> Iterator[None]:
    """Read what no test changes once in a process, not in each training: bundled vectors, hashes of code, versions.

    Lightning reads the entry points of all packages for each Trainer.
    """
    from pytorch_lightning.trainer.connectors import callback_connector

    from heedful.data import origin, source
    from heedful.models.embedding import glove
    from heedful.runs import environment

    original = glove.read_glove
    bundled = cache(partial(original, None))

    def read_glove(path: str | None, requested: Iterable[str], words: int | None = None) -> Any:
        return original(path, requested, words) if path else bundled(frozenset(requested), words)

    with ExitStack() as patches:
        patches.enter_context(patch.object(glove, "read_glove", read_glove))
        patches.enter_context(patch.object(environment, "versions", cache(environment.versions)))
        find_callbacks = cache(callback_connector._load_external_callbacks)
        patches.enter_context(patch.object(callback_connector, "_load_external_callbacks", find_callbacks))
        for module in (origin, source):
            patches.enter_context(patch.object(module, "code_version", cache(module.code_version)))
        yield


@pytest.fixture(autouse=True, scope="session")
def shared_compositions(session_folder: Path) -> Iterator[None]:
    """Compose each choice of config files once in all processes of the tests."""
    folder = session_folder / "compositions"
    folder.mkdir(exist_ok=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(FOLDER, str(folder))
        patch.setattr(compose, "MERGED", compose.MERGED)
        share_compositions()
        yield


@pytest.fixture(scope="session")
def session_folder(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Path:
    """A folder that all workers share."""
    base = tmp_path_factory.getbasetemp()
    return base if worker_id == "master" else base.parent


@pytest.fixture(scope="session")
def store(session_folder: Path) -> Callable[..., Path]:
    """A function that trains with overrides, once for all workers, and returns the run's folder.

    Tests must not change it. A short run has `callbacks=checkpoints` and no test; `draws` is that of `train`.
    """
    from tests.helpers import train

    def run(*overrides: str, short: bool = True, draws: bool | str = False) -> Path:
        lines = (*(("callbacks=checkpoints", "test=false") if short else ()), *overrides)
        folder = session_folder / "trained" / hashlib.sha256(repr((lines, draws)).encode()).hexdigest()[:16]
        folder.mkdir(parents=True, exist_ok=True)
        with FileLock(folder / "lock"):
            if not (folder / "complete").exists():
                train(folder / "run", *lines, draws=draws)
                (folder / "complete").touch()
        return folder / "run"

    return run


@pytest.fixture(scope="session")
def checkpoint(store: Callable[..., Path]) -> Path:
    """The last checkpoint of a short run with `callbacks=checkpoints`; tests must not change it."""
    return store() / "checkpoints" / "last.ckpt"


@pytest.fixture(scope="session")
def finished(store: Callable[..., Path]) -> tuple[Path, dict[str, Any]]:
    """The folder and result of a run with the default callbacks; tests must not change it."""
    run = store("data.batch_size=4", short=False, draws=True)
    return run, json.loads((run / "result.json").read_text())


@pytest.fixture
def make_run(tmp_path: Path) -> Callable[..., Path]:
    """A function that writes a training with n test texts and options of `write_run`, and returns its folder."""
    from tests.run_folders import example, predictions, write_run

    def write(n: int = 31, classes: int = 2, **options: Any) -> Path:
        return write_run(tmp_path / "run", *predictions(n, classes), epochs=3, **{"examples": [example(11)]} | options)

    return write

"""Settings and fixtures for all tests: offline libraries, one torch thread per process, and repeatable examples."""

import os
import signal

os.environ.update(
    WANDB_MODE="offline", WANDB_SILENT="true", HF_HUB_OFFLINE="1", HF_DATASETS_OFFLINE="1", MPLBACKEND="Agg"
)
# torch reads this at import. The tensors of the tests are so small that starting threads takes longer than computing.
os.environ["OMP_NUM_THREADS"] = "1"

import json
import logging
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import hypothesis
import pytest
from filelock import FileLock

signal.signal(signal.SIGHUP, signal.SIG_DFL)  # under nohup, the processes that tests start would ignore it

hypothesis.settings.register_profile("heedful", deadline=None, derandomize=True)
hypothesis.settings.load_profile("heedful")


@pytest.fixture(autouse=True)
def close_log_files() -> Iterator[None]:
    """Close the log file that Hydra opens for a run in this process; otherwise it causes a warning in a later test."""
    yield
    root = logging.getLogger()
    for handler in [handler for handler in root.handlers if type(handler) is logging.FileHandler]:
        root.removeHandler(handler)
        handler.close()


@pytest.fixture(scope="session")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The last checkpoint of a short run with `callbacks=checkpoints`; tests must not change it."""
    from tests.helpers import trained

    return trained(tmp_path_factory.mktemp("checkpoint") / "run")


@pytest.fixture(scope="session")
def finished(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> tuple[Path, dict[str, Any]]:
    """The folder and result of a run with the default callbacks, which all workers share; tests must not change it."""
    from tests.helpers import train

    folder = tmp_path_factory.getbasetemp()
    shared = (folder if worker_id == "master" else folder.parent) / "finished"
    shared.mkdir(exist_ok=True)
    result_file = shared / "result.json"  # written after the run is complete
    with FileLock(shared / "lock"):
        if not result_file.exists():
            result_file.write_text(json.dumps(train(shared / "run", draws=True)))
    return shared / "run", json.loads(result_file.read_text())


@pytest.fixture
def make_run(tmp_path: Path) -> Callable[..., Path]:
    """A function that writes a training with n test texts and options of `write_run`, and returns its folder."""
    from tests.run_folders import example, predictions, write_run

    def write(n: int = 31, classes: int = 2, **options: Any) -> Path:
        return write_run(tmp_path / "run", *predictions(n, classes), epochs=3, **{"examples": [example(11)]} | options)

    return write

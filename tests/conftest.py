"""All tests run offline, on one thread of torch each, and repeatably."""

import os
import signal
import sys

os.environ.update(
    WANDB_MODE="offline", WANDB_SILENT="true", HF_HUB_OFFLINE="1", HF_DATASETS_OFFLINE="1", MPLBACKEND="Agg"
)
# torch reads this at import. Its tensors here are so small that threads take longer to start than to compute.
os.environ["OMP_NUM_THREADS"] = "1"

import json
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import hypothesis
import pytest
from filelock import FileLock

signal.signal(signal.SIGHUP, signal.SIG_DFL)  # under nohup it is ignored, also by the processes that tests start

LOOPBACK = {"localhost", "127.0.0.1", "::1", "", None}


def refuse_network(event: str, args: tuple[object, ...]) -> None:
    """Stop a connection or look-up beyond this machine; W&B's own service answers on loopback."""
    if event == "socket.getaddrinfo":
        host = args[0]
    elif event == "socket.connect" and isinstance(args[1], tuple):  # a Unix socket's address is no tuple
        host = args[1][0]
    else:
        return
    if host not in LOOPBACK:
        raise RuntimeError(f"a test reached for the network: {host}")


sys.addaudithook(refuse_network)

hypothesis.settings.register_profile("heed", deadline=None, derandomize=True)
hypothesis.settings.load_profile("heed")


@pytest.fixture(autouse=True)
def close_log_files() -> Iterator[None]:
    """Close the log file that Hydra opens for a run in this process; otherwise a later test is warned of it."""
    yield
    root = logging.getLogger()
    for handler in [handler for handler in root.handlers if type(handler) is logging.FileHandler]:
        root.removeHandler(handler)
        handler.close()


@pytest.fixture(scope="session")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The last checkpoint of a short run with `callbacks=checkpoints`; read only."""
    from tests.helpers import trained

    return trained(tmp_path_factory.mktemp("checkpoint") / "run")


@pytest.fixture(scope="session")
def finished(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> tuple[Path, dict[str, Any]]:
    """The folder of a run with the default callbacks, and its result; shared by all workers, and read only."""
    from tests.helpers import train

    own = tmp_path_factory.getbasetemp()
    shared = (own if worker_id == "master" else own.parent) / "finished"
    shared.mkdir(exist_ok=True)
    record = shared / "result.json"  # written once the run is complete
    with FileLock(shared / "lock"):
        if not record.exists():
            record.write_text(json.dumps(train(shared / "run", draws=True)))
    return shared / "run", json.loads(record.read_text())

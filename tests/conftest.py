"""All tests run offline, on one thread of torch each, and repeatably."""

import os
import signal
import socket

os.environ.update(
    WANDB_MODE="offline", WANDB_SILENT="true", HF_HUB_OFFLINE="1", HF_DATASETS_OFFLINE="1", MPLBACKEND="Agg"
)
# torch reads this at import. Its tensors here are so small that threads take longer to start than to compute.
os.environ["OMP_NUM_THREADS"] = "1"

import gc
import json
import logging
from collections.abc import Callable, Iterator
from functools import wraps
from pathlib import Path
from typing import Any

import hypothesis
import pytest
from filelock import FileLock

from src.process.startup import GC_THRESHOLDS

gc.set_threshold(*GC_THRESHOLDS)  # as in a command
signal.signal(signal.SIGHUP, signal.SIG_DFL)  # under nohup it is ignored, also by the processes that tests start

LOOPBACK = {"localhost", "127.0.0.1", "::1", "", None}


def on_loopback(function: Callable[..., Any], host_of: Callable[[Any, Any], object]) -> Callable[..., Any]:
    """The function of `socket` for hosts of this machine alone; W&B's own service answers on loopback.

    An audit hook would also be called by every `id()`, which copying a configuration calls a thousand times.
    """

    @wraps(function)
    def checked(first: Any, second: Any, *arguments: Any, **options: Any) -> Any:
        host = host_of(first, second)
        if host not in LOOPBACK:
            raise RuntimeError(f"a test reached for the network: {host}")
        return function(first, second, *arguments, **options)

    return checked


def host_of_address(_: socket.socket, address: Any) -> object:
    return address[0] if isinstance(address, tuple) else None  # a Unix socket's address is no tuple


socket.getaddrinfo = on_loopback(socket.getaddrinfo, lambda host, port: host)
for method in ("connect", "connect_ex"):
    setattr(socket.socket, method, on_loopback(getattr(socket.socket, method), host_of_address))

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

"""A process that trains one implementation, so that its memory use does not affect the other implementations.

The process of Heed can also train the bare loop over Heed's model, so that both share the layout of the heap. A job
contains `work` (the name of a workload), `implementation` (a name), `overrides`, `folder`, `device`, `bf16`, and `rows`
(a file with the reviews for a plain loop).
"""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import torch
from torch.utils.data import TensorDataset

from benchmarks import memory
from benchmarks.baselines import train
from benchmarks.measure import Reader, evenly
from benchmarks.workloads import BARE, HEED, WORKLOADS
from src.kernels.malloc import reuse_freed_memory


class ImplementationProcess:
    """A process that trains an implementation; the constructor starts it, and the end of the context ends it."""

    def __init__(self, job: dict[str, Any]) -> None:
        line = [sys.executable, "-m", "benchmarks.implementation"]
        self._process = subprocess.Popen(
            line, cwd=memory.ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
        )
        self._send(job)

    def ready(self) -> None:
        """Wait until the process is ready to train."""
        self._receive()

    def read(self, name: str, reviews: int) -> float:
        """Train the implementation `name` on about `reviews` reviews, and return the reviews per second."""
        self._send([name, reviews])
        return self._receive()

    def used(self) -> dict[str, Any]:
        """End the process, and return its `memory.used()` with `on_device`, the peak MB on the GPU (None on a CPU)."""
        self._send(None)
        return self._receive()

    def __enter__(self) -> "ImplementationProcess":
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.communicate()

    def _send(self, message: Any) -> None:
        assert self._process.stdin is not None
        print(json.dumps(message), file=self._process.stdin)

    def _receive(self) -> Any:
        """Receive a message.

        Raises:
            subprocess.CalledProcessError: if the process failed; the cause is on standard error.
        """
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise subprocess.CalledProcessError(self._process.wait(), self._process.args)
        return json.loads(line)


def readers(job: dict[str, Any]) -> dict[str, Reader]:
    """Return the training functions of this process by the name of the implementation."""
    name, device = job["implementation"], job["device"]
    if name in (HEED, BARE):
        reuse_freed_memory()
        # imported here, because it allocates tensors, and plain loops do not need it
        from benchmarks.heed import HeedRunner

        heed = HeedRunner(job["overrides"], Path(job["folder"]), device)
        return {HEED: heed.train, BARE: heed.train_bare}
    plain = WORKLOADS[job["work"]].plain[name]
    dataset = torch.load(job["rows"], weights_only=True)
    columns = dataset["columns"]
    by_length = columns[1].argsort().numpy()
    model = plain.model(dataset["vocabulary"]).to(device)

    def read(reviews: int) -> float:
        rows = evenly(by_length, reviews)
        return train(model, plain.loss, TensorDataset(*(column[rows] for column in columns)), device, job["bf16"])

    return {name: read}


def main() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C: the measuring process ends this process
    replies = os.fdopen(os.dup(sys.stdout.fileno()), "w", buffering=1)
    sys.stdout = sys.stderr  # so that no library prints into the replies
    messages = map(json.loads, sys.stdin)
    job = next(messages)
    by_name = readers(job)
    print(json.dumps("ready"), file=replies)
    for name, reviews in iter(messages.__next__, None):
        print(json.dumps(by_name[name](reviews)), file=replies)
    on_device = torch.cuda.max_memory_allocated() / 2**20 if job["device"] == "cuda" else None
    print(json.dumps({**memory.used(), "on_device": on_device}), file=replies)


if __name__ == "__main__":
    main()

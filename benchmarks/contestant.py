"""One contestant in a process of its own, so that what one does with memory is nothing to the others.

The bare loop over Heed's own parts may also train in Heed's process: how a heap came to lie is luck, for both the same.
A job holds the name of a work and of one of its contestants, `overrides`, `folder`, `device`, `bf16`, and `rows`, a
file with what a plain loop reads.
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
from benchmarks.measure import Reader, evenly
from benchmarks.works import BARE, HEED, WORKS
from benchmarks.yardsticks import train
from src.kernels.malloc import reuse_freed_memory


class Contestant:
    """The process, seen from the one that measures; it starts at once, and `ready` waits for it.

    The context ends it.
    """

    def __init__(self, job: dict[str, Any]) -> None:
        line = [sys.executable, "-m", "benchmarks.contestant"]
        self._process = subprocess.Popen(
            line, cwd=memory.ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
        )
        self._say(job)

    def ready(self) -> None:
        self._hear()

    def read(self, name: str, reviews: int) -> float:
        """Let a contestant that lives there train on about so many reviews; how many it read a second."""
        self._say([name, reviews])
        return self._hear()

    def used(self) -> dict[str, Any]:
        """Let it end; what `memory.used` says of it, and its peak `on_device` in MB, None on a CPU."""
        self._say(None)
        return self._hear()

    def __enter__(self) -> "Contestant":
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.communicate()

    def _say(self, message: Any) -> None:
        assert self._process.stdin is not None
        print(json.dumps(message), file=self._process.stdin)

    def _hear(self) -> Any:
        """Raises CalledProcessError if it failed: what it said stands on standard error."""
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise subprocess.CalledProcessError(self._process.wait(), self._process.args)
        return json.loads(line)


def readers(job: dict[str, Any]) -> dict[str, Reader]:
    """What trains on some of the reviews, by the names of the contestants that live here."""
    name, device = job["contestant"], job["device"]
    if name in (HEED, BARE):
        reuse_freed_memory()
        from benchmarks.ours import Ours  # makes tensors, and a plain loop has no need of it

        ours = Ours(job["overrides"], Path(job["folder"]), device)
        return {HEED: ours.train, BARE: ours.train_bare}
    plain = WORKS[job["work"]].plain[name]
    rows = torch.load(job["rows"], weights_only=True)
    columns = rows["columns"]
    by_length = columns[1].argsort().numpy()
    model = plain.model(rows["vocabulary"]).to(device)

    def read(reviews: int) -> float:
        some = evenly(by_length, reviews)
        return train(model, plain.loss, TensorDataset(*(column[some] for column in columns)), device, job["bf16"])

    return {name: read}


def main() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the one that measures stops this one
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "w", buffering=1)
    sys.stdout = sys.stderr  # what others print is no answer
    messages = map(json.loads, sys.stdin)
    job = next(messages)
    found = readers(job)
    print(json.dumps("ready"), file=answers)
    for name, reviews in iter(messages.__next__, None):
        print(json.dumps(found[name](reviews)), file=answers)
    on_device = torch.cuda.max_memory_allocated() / 2**20 if job["device"] == "cuda" else None
    print(json.dumps({**memory.used(), "on_device": on_device}), file=answers)


if __name__ == "__main__":
    main()

"""One contestant in a process of its own, to see how much memory it takes: reads its job, prints what it used.

The job holds the name of a work and of one of its contestants, `overrides`, `folder`, `device`, and `rows`, a file
with what a plain loop reads.
"""

import json
import sys
from pathlib import Path
from typing import Any

import torch
from torch.utils.data import TensorDataset

from benchmarks import memory
from benchmarks.works import BARE, HEED, WORKS
from benchmarks.yardsticks import train


def read(job: dict[str, Any]) -> None:
    """One epoch over everything that the job holds."""
    name, device = job["contestant"], job["device"]
    if name in (HEED, BARE):
        from benchmarks.ours import Ours  # a plain loop has no need of it

        ours = Ours(job["overrides"], Path(job["folder"]), device)
        (ours.train if name == HEED else ours.train_bare)(ours.data.sizes["train"])
    else:
        plain = WORKS[job["work"]].plain[name]
        rows = torch.load(job["rows"], weights_only=True)
        train(plain.model(rows["vocabulary"]).to(device), plain.loss, TensorDataset(*rows["columns"]), device)


def main() -> None:
    job = json.load(sys.stdin)
    read(job)
    on_device = torch.cuda.max_memory_allocated() / 2**20 if job["device"] == "cuda" else None
    print(f"\n{json.dumps({**memory.used(), 'on_device': on_device})}")


if __name__ == "__main__":
    main()

"""Measure the seconds until the tokenized data are in memory; `benchmarks.memory.run` runs this module."""

import json
import sys
import time
from pathlib import Path

from benchmarks.heed import configuration
from src import build


def main() -> None:
    job = json.load(sys.stdin)
    cfg = configuration(job["overrides"], Path(job["folder"]), "cpu")
    wall, cpu = time.perf_counter(), time.process_time()
    build.datamodule(cfg)
    print(f"\n{json.dumps({'seconds': time.perf_counter() - wall, 'cpu_seconds': time.process_time() - cpu})}")


if __name__ == "__main__":
    main()

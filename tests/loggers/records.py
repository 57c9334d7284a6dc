"""Reads the records and files of an offline W&B run."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any


def records(run: Path, kind: str) -> list[dict[str, Any]]:
    """Return all records of a kind (run, history, artifact, …) in their order."""
    (log,) = (run / "wandb").glob("offline-run-*/*.wandb")
    line = [str(Path(sys.executable).parent / "wandb"), "leet", "inspect", "--json", str(log)]
    printed = subprocess.run(line, capture_output=True, encoding="utf-8", check=True).stdout
    inspected = [json.loads(line) for line in printed.splitlines() if line]
    return [record[kind] for record in inspected if record["type"] == kind]


def media_file(run: Path, item: dict[str, Any]) -> Path:
    """Return the file of a picture, table or page in the run's summary."""
    (path,) = (run / "wandb").glob(f"offline-run-*/files/{item['path']}")
    return path

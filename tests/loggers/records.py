"""Reading back what W&B kept of an offline run."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any


def records(run: Path, kind: str) -> list[dict[str, Any]]:
    """All records of a kind (run, history, artifact, …) in the order in which W&B wrote them."""
    (log,) = (run / "wandb").glob("offline-run-*/*.wandb")
    line = [str(Path(sys.executable).parent / "wandb"), "leet", "inspect", "--json", str(log)]
    printed = subprocess.run(line, capture_output=True, encoding="utf-8", check=True).stdout
    found = [json.loads(line) for line in printed.splitlines() if line]
    return [record[kind] for record in found if record["type"] == kind]


def kept(run: Path, item: dict[str, Any]) -> Path:
    """The file of a picture, table or page, as the run's summary names it."""
    (path,) = (run / "wandb").glob(f"offline-run-*/files/{item['path']}")
    return path

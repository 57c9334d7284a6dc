"""Reads the records and files of an offline W&B run with W&B's own command."""

import json
from functools import cache
from pathlib import Path
from typing import Any

from tests.forks import complete
from tests.helpers import command

INSPECT = "import sys; from wandb.cli.cli import cli; cli(['leet', 'inspect', '--json', *sys.argv[1:]])"


def records(run: Path, kind: str) -> list[dict[str, Any]]:
    """Return all records of a kind (run, history, artifact, …) in their order."""
    inspected = [json.loads(line) for line in inspect(run).splitlines() if line]
    return [record[kind] for record in inspected if record["type"] == kind]


def recorded(run: Path) -> dict[str, Any]:
    """Return what W&B summarizes of a run: its state, configuration and final values."""
    return json.loads(inspect(run, "--summary"))


def media_file(run: Path, item: dict[str, Any]) -> Path:
    """Return the file of a picture, table or page in the run's summary."""
    (path,) = (run / "wandb").glob(f"offline-run-*/files/{item['path']}")
    return path


@cache
def inspect(run: Path, *flags: str) -> str:
    """Return what `wandb leet inspect` prints of the only offline run in the folder of a run, which has ended."""
    (log,) = (run / "wandb").glob("offline-run-*/*.wandb")
    (python, *_), options = command(log.parent, "train")
    process = complete([python, "-c", INSPECT, *flags, str(log)], options)
    assert process.returncode == 0, process.stderr
    return process.stdout

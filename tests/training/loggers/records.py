"""Read the records and files of an offline W&B run with W&B's command `wandb leet inspect`."""

import json
from functools import cache
from pathlib import Path
from typing import Any

from tests.forks import complete
from tests.helpers import command

INSPECT = "import sys; from wandb.cli.cli import cli; cli(['leet', 'inspect', '--json', *sys.argv[1:]])"


def read_records(run: Path, kind: str) -> list[dict[str, Any]]:
    """Return all records of a kind (run, history, artifact, …) in their order."""
    all_records = [json.loads(line) for line in inspect(run).splitlines() if line]
    return [record[kind] for record in all_records if record["type"] == kind]


def read_summary(run: Path) -> dict[str, Any]:
    """Return W&B's summary of a run: its state, configuration and final values."""
    return json.loads(inspect(run, "--summary"))


def media_file(run: Path, item: dict[str, Any]) -> Path:
    """Return the file of a picture, table or page in the run's summary."""
    (path,) = (run / "wandb").glob(f"offline-run-*/files/{item['path']}")
    return path


@cache
def inspect(run: Path, *flags: str) -> str:
    """Return the output of `wandb leet inspect` for the only offline run in the folder `run`; it must have ended."""
    (log,) = (run / "wandb").glob("offline-run-*/*.wandb")
    (python, *_), options = command(log.parent, "train")
    process = complete([python, "-c", INSPECT, *flags, str(log)], options)
    assert process.returncode == 0, process.stderr
    return process.stdout

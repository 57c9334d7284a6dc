"""Finished runs, found by the files that they left."""

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from src.errors import UserError
from src.files.plain import require
from src.reports.files import Predictions, read_predictions, read_result

_parse = partial(yaml.load, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
NEEDED = ("status", "seed", "choices", "overrides", "data", "parameters", "seconds", "peak_memory_mb", "started")

COMPARED = {"parameters": {"total": int}, "seconds": {"per_epoch": [float]}}  # of what is needed


@dataclass(frozen=True)
class FinishedRun:
    """A run that went to its end and kept its test predictions."""

    folder: Path
    result: dict[str, Any]  # result.json
    config: dict[str, Any]  # config.yaml, resolved

    @property
    def seed(self) -> int:
        return int(self.result["seed"])

    @property
    def choices(self) -> dict[str, str]:
        """The option chosen in each config group, such as {"encoder": "bilstm", "attention": "none", …}."""
        return self.result["choices"]

    @property
    def overrides(self) -> list[str]:
        return self.result["overrides"]

    def predictions(self) -> Predictions:
        """Of the test split, in the order of its index; read at each call."""
        predictions = read_predictions(self.folder)
        assert predictions is not None, f"{self.folder} was found with predictions"
        return predictions


class ExcludedRun(NamedTuple):
    """A folder that is not compared, and why."""

    folder: Path
    status: str  # failed, interrupted, unfinished, unreadable, untested or repeated
    error: str


class DiscoveredRuns(NamedTuple):
    runs: tuple[FinishedRun, ...]
    failed: tuple[ExcludedRun, ...]


def find_runs(folders: Sequence[Path]) -> DiscoveredRuns:
    """Every run below the folders, each once, in the order of their paths.

    Raises:
        UserError: a folder is not there, or no run in any of them can be compared.
    """
    missing = [str(folder) for folder in folders if not folder.is_dir()]
    if missing:
        raise UserError(f"{', '.join(missing)}: no such folder; name folders of runs or sweeps")
    below = {path.resolve(): path for folder in folders for path in _run_folders(folder)}
    read = [_read(path) for path in below.values()]
    runs = tuple(one for one in read if isinstance(one, FinishedRun))
    failed = tuple(one for one in read if isinstance(one, ExcludedRun))
    if not runs:
        named = f"no finished run below {', '.join(map(str, folders))}"
        raise UserError("\n  ".join([named, *(f"{one.folder}: {one.status}: {one.error}" for one in failed)]))
    return DiscoveredRuns(runs, failed)


def _run_folders(folder: Path) -> Iterator[Path]:
    for path, folders, files in os.walk(folder):
        if "result.json" in files or ".hydra" in folders:
            folders.clear()
            yield Path(path)
        else:
            folders[:] = sorted(name for name in folders if not name.startswith("."))


def _read(folder: Path) -> FinishedRun | ExcludedRun:
    if not (folder / "result.json").exists():
        return ExcludedRun(folder, "unfinished", "it has no result.json: killed, or still running")
    try:
        result = read_result(folder)
        if result.get("status") != "completed":
            return ExcludedRun(
                folder, str(result.get("status")), str(result.get("error") or "it has not ended, or was killed")
            )
        config = _config(folder / "config.yaml")
        lacking = [key for key in NEEDED if key not in result]
        if lacking:
            return ExcludedRun(folder, "unreadable", f"result.json lacks {', '.join(lacking)}")
        if "model" not in config:
            return ExcludedRun(folder, "untested", "an evaluation: name the run that trained the model")
        if not (folder / "predictions" / "test.npz").exists():
            return ExcludedRun(folder, "untested", "it has no predictions/test.npz: run with test=true")
        require(result, COMPARED)
        read_predictions(folder)
    except UserError as error:
        return ExcludedRun(folder, "unreadable", str(error))
    except ValueError as error:
        return ExcludedRun(folder, "unreadable", f"result.json: {error}")
    return FinishedRun(folder, result, config)


def _config(path: Path) -> dict[str, Any]:
    try:
        config = _parse(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError, yaml.YAMLError) as error:
        raise UserError(f"{path} cannot be read ({type(error).__name__})") from error
    if not isinstance(config, dict):
        raise UserError(f"{path} holds no configuration")
    return config

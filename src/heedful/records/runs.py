"""Find finished runs by the files in their folders."""

import os
import re
import shlex
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, cast

import yaml

from heedful.base.errors import UserError
from heedful.base.files import YAML_LOADER
from heedful.base.formatting import format_count
from heedful.base.process import typed
from heedful.config.keys import rename_earlier
from heedful.runs.result import RESULT_FILE, RunResult
from heedful.runs.run_files import Predictions, read_existing, read_predictions
from heedful.runs.sweep_record import SWEEP_FILE, Sweep

REQUIRED = ("seed", "choices", "data", "parameters", "seconds", "peak_memory_mb", "started")
TO_RESUME = ("pending", "interrupted", "failed", "unfinished")  # statuses of jobs that a resumed sweep runs again
MAX_REASONS = 3  # maximum number of excluded runs whose reason is stated in a summary


@dataclass(frozen=True)
class FinishedRun:
    """A completed run with test predictions."""

    folder: Path
    result: RunResult  # has a value for each field in REQUIRED
    config: dict[str, Any]  # content of config.yaml
    given: Predictions | None = None  # of another program, in place of those in the folder

    @property
    def seed(self) -> int:
        return cast(int, self.result.seed)

    @property
    def fold(self) -> int:
        """The index of the fold that is the test split; 0 without cross-validation."""
        return self.result.data.fold or 0

    @property
    def folds(self) -> int:
        """The number of folds; 1 without cross-validation."""
        return self.result.data.folds or 1

    @property
    def started(self) -> str:
        return cast(str, self.result.started)

    @property
    def parameters(self) -> int | None:
        """The number of parameters; None if another program made the predictions."""
        return self.result.parameters.total

    @property
    def choices(self) -> dict[str, str]:
        return dict(self.result.choices)

    def predictions(self) -> Predictions:
        predictions = self.given or read_predictions(self.folder)
        assert predictions is not None, f"{self.folder} had predictions when it was discovered"
        return predictions


class ExcludedRun(NamedTuple):
    """The folder of a run that is not compared, and the reason."""

    folder: Path
    # pending, interrupted, failed, unfinished, unreadable, untested, incomplete or repeated
    status: str
    error: str

    def __str__(self) -> str:
        return f"{self.folder}: {self.status}: {self.error}"


class DiscoveredRuns(NamedTuple):
    """The runs to compare, and the runs that are not compared."""

    runs: tuple[FinishedRun, ...]
    excluded: tuple[ExcludedRun, ...]


def find_runs(folders: Sequence[Path]) -> DiscoveredRuns:
    """Find all runs below the folders, each run once, in the order of the folders and in natural order within them."""
    if missing := [str(folder) for folder in folders if not folder.is_dir()]:
        raise UserError(f"{', '.join(missing)}: no such folder; name folders of runs or sweeps")
    below = {path.resolve(): path for folder in folders for path in sorted(_run_folders(folder), key=_natural)}
    results = [_read(path) for path in below.values()]
    runs = tuple(run for run in results if isinstance(run, FinishedRun))
    excluded = tuple(run for run in results if isinstance(run, ExcludedRun))
    if not runs:
        end = " can be compared" if results else ": name folders of runs or sweeps"
        message = f"no run below {', '.join(map(str, folders))}{end}"
        raise UserError("\n  ".join([message, *summarize_excluded(excluded, len(results))]))
    return DiscoveredRuns(runs, excluded)


def summarize_excluded(excluded: Sequence[ExcludedRun], total: int) -> list[str]:
    """Return at most five lines about the runs, of `total`, that are not compared: counts, a command, and reasons."""
    if not excluded:
        return []
    shared = os.path.commonpath([run.folder.parent.absolute() for run in excluded])
    named = [(os.path.relpath(run.folder, shared), run.error.strip()) for run in excluded]
    reasons = [f"{name}: {error.splitlines()[0]}" for name, error in named if error]
    counts = ", ".join(f"{count} {status}" for status, count in Counter(run.status for run in excluded).items())
    lines = [f"{len(excluded)} of {total} runs {'is' if len(excluded) == 1 else 'are'} not compared: {counts}."]
    parents = dict.fromkeys(run.folder.parent for run in excluded if run.status in TO_RESUME)
    if sweeps := [parent for parent in parents if (parent / SWEEP_FILE).exists()]:
        more = f" (and {format_count(len(sweeps) - 1, 'more sweep')})" if len(sweeps) > 1 else ""
        lines.append(f"To run them: {typed('train')} {shlex.quote(f'sweep.resume={sweeps[0]}')}{more}")
    return lines + reasons[:MAX_REASONS]


def _natural(path: Path) -> list[tuple[int, str]]:
    """Return a sort key that puts "9_a" before "10_a"."""
    return [(int(part), "") if part.isdecimal() else (0, part) for part in re.split(r"([0-9]+|/)", str(path))]


def _run_folders(folder: Path) -> Iterator[Path]:
    for path, folders, files in os.walk(folder):
        is_started = ".hydra" in folders and SWEEP_FILE not in files  # a sweep has its lock in .hydra, too
        if RESULT_FILE in files or is_started:
            folders.clear()
            yield Path(path)
            continue
        folders[:] = [name for name in folders if not name.startswith(".")]
        if SWEEP_FILE in files:
            with suppress(UserError):  # a damaged file does not prevent a comparison
                pending = (job.folder for job in Sweep.read(Path(path)).jobs if job.folder not in folders)
                yield from (Path(path) / name for name in pending)


def _read(folder: Path) -> FinishedRun | ExcludedRun:
    if not folder.exists():
        return ExcludedRun(folder, "pending", "")
    if not (folder / RESULT_FILE).exists():
        return ExcludedRun(folder, "unfinished", f"no {RESULT_FILE}: the run was killed or is still running")
    try:
        result = RunResult.load(folder)
        if result.status != "completed":
            return ExcludedRun(folder, result.status, result.error or "the run is still running or was killed")
        if missing := result.lacks(*REQUIRED) or ["parameters.total"] * (result.parameters.total is None):
            return ExcludedRun(folder, "unreadable", f"{RESULT_FILE} lacks {', '.join(missing)}")
        config = read_existing(folder / "config.yaml", lambda path: dict(yaml.load(path.read_bytes(), YAML_LOADER)))
        if config is None:
            return ExcludedRun(folder, "unreadable", "no config.yaml")
        if "model" not in config:
            return ExcludedRun(folder, "untested", "the run is an evaluation: name the folder of the training run")
        if not (folder / "predictions" / "test.npz").exists():
            return ExcludedRun(folder, "untested", "no predictions/test.npz: train again with test=true")
        predictions = read_predictions(folder)
        if (config.get("data") or {}).get("group") and predictions is not None and predictions.groups is None:
            return ExcludedRun(folder, "untested", "predictions/test.npz lacks the groups of data.group: train again")
    except UserError as error:
        return ExcludedRun(folder, "unreadable", str(error))
    return FinishedRun(folder, result, rename_earlier(config))

"""The jobs of a sweep, and the file `sweep.json` that records them."""

import shlex
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePath
from typing import Any, NamedTuple

from src.errors import UserError
from src.files.record import read_json, write_json
from src.run_result import RESULT_FILE

FILE = "sweep.json"
SWEEP = {"arguments": [str], "jobs": [{"number": int, "overrides": [str], "folder": str}]}


class Job(NamedTuple):
    """One run of a sweep.

    Args:
        number: position in the sweep, from 0.
        folder: output folder, relative to the sweep's folder.
    """

    number: int
    overrides: list[str]
    folder: str

    def describe(self, shared: Collection[str]) -> str:
        """Return the overrides of the job as on a command line, except overrides that all jobs share."""
        return shlex.join(varying_overrides(self.overrides, shared))


@dataclass
class Sweep:
    """A sweep as recorded in `sweep.json`.

    Args:
        arguments: the command line that started the sweep, including flags.
        jobs: all jobs; in a search, the jobs that have been sampled so far.
        record: other fields of the file, such as the start time.
    """

    folder: Path
    arguments: list[str]
    jobs: list[Job]
    record: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def read(cls, folder: Path) -> "Sweep":
        """Read the sweep in a folder.

        Raises:
            UserError: if the folder contains no sweep, its file cannot be read, a job's folder is not inside the
                sweep's folder, two jobs have the same number or folder, or the path of a job's record is a folder.
        """
        path = folder / FILE
        if not path.is_file():
            raise UserError(f"{folder} is not the folder of a sweep: it has no {FILE}; sweeps are in …/multiruns/")
        try:
            content = read_json(path, SWEEP)
        except (OSError, ValueError) as error:
            raise UserError(f"{path} cannot be read ({error}): start the sweep anew") from error
        jobs = [Job(job["number"], job["overrides"], job["folder"]) for job in content.pop("jobs")]
        if outside := [job.folder for job in jobs if not _is_within(job.folder)]:
            raise UserError(
                f"{path} names {outside[0]!r}, which is not inside the sweep's folder: start the sweep anew"
            )
        for name, values in (
            ("number", [job.number for job in jobs]),
            ("folder", [PurePath(job.folder) for job in jobs]),
        ):
            if repeated := [value for value, count in Counter(values).items() if count > 1]:
                raise UserError(f"{path} has several jobs with the {name} {repeated[0]}: start the sweep anew")
        for job in jobs:
            if (result := folder / job.folder / RESULT_FILE).is_dir():
                raise UserError(f"{result} is a folder, but must be a file: remove it")
        return cls(folder, content.pop("arguments"), jobs, content)

    def write(self, outcomes: Sequence[Any] = ()) -> None:
        """Write `sweep.json` atomically.

        Args:
            outcomes: the outcome of each job; empty before the end of the sweep.
        """
        fields = [outcome._asdict() for outcome in outcomes] or [{} for _ in self.jobs]
        jobs = [job._asdict() | outcome for job, outcome in zip(self.jobs, fields, strict=True)]
        content = {"format": 1, **self.record, "arguments": self.arguments, "jobs": jobs}
        self.folder.mkdir(parents=True, exist_ok=True)
        write_json(self.folder / FILE, content)


def _is_within(folder: str) -> bool:
    path = PurePath(folder)
    return bool(path.parts) and not path.is_absolute() and ".." not in path.parts and "\0" not in folder


def shared_overrides(jobs: Sequence[Sequence[str]]) -> frozenset[str]:
    """Return the overrides that all jobs share.

    For a single job, these are only the overrides whose values are absolute paths, so that the name of its folder
    contains all others.
    """
    if len(jobs) > 1:
        return frozenset(jobs[0]).intersection(*jobs)
    values = {override: override.partition("=")[2].strip("'\"") for override in jobs[0]}
    return frozenset(override for override, value in values.items() if PurePath(value).is_absolute())


def varying_overrides(overrides: Iterable[str], shared: Collection[str]) -> list[str]:
    """Return the overrides of a job, except overrides that all jobs share."""
    return [override for override in overrides if override not in shared]

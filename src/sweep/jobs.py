"""The jobs of a sweep, and what is kept of them in the sweep's folder."""

import json
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePath
from typing import Any, NamedTuple

from src.errors import UserError
from src.files.record import read_json

FILE = "sweep.json"
SWEEP = {"arguments": [str], "jobs": [{"number": int, "overrides": [str], "folder": str}]}


class Job(NamedTuple):
    """One run of a sweep.

    Args:
        number: its place in the sweep, from 0.
        overrides: what its command line would be.
        folder: where it writes, within the sweep's folder.
    """

    number: int
    overrides: list[str]
    folder: str


@dataclass
class Sweep:
    """What `sweep.json` holds: all that is needed to go on with a sweep, and how its jobs ended.

    Args:
        folder: of the sweep.
        arguments: the command line that started it, flags included.
        jobs: all of them, or of a search those so far.
        record: other facts, such as when it started.
    """

    folder: Path
    arguments: list[str]
    jobs: list[Job]
    record: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def read(cls, folder: Path) -> "Sweep":
        """The sweep of a folder.

        Raises:
            UserError: if the folder holds none, or its file cannot be read.
        """
        path = folder / FILE
        if not path.is_file():
            raise UserError(f"{folder} holds no sweep: there is no {FILE} in it; a sweep's folder is in …/multiruns/")
        try:
            held = read_json(path, SWEEP)
        except (OSError, ValueError) as error:
            raise UserError(f"{path} cannot be read ({error}): start the sweep anew") from error
        jobs = [Job(job["number"], job["overrides"], job["folder"]) for job in held.pop("jobs")]
        if outside := [job.folder for job in jobs if not _is_within(job.folder)]:
            raise UserError(f"{path} names {outside[0]!r}, which is no folder within the sweep's: start the sweep anew")
        return cls(folder, held.pop("arguments"), jobs, held)

    def write(self, outcomes: Sequence[Any] = ()) -> None:
        """Put it down, whole or not at all; with the jobs' outcomes, where these are known."""
        ends = [outcome._asdict() for outcome in outcomes] or [{} for _ in self.jobs]
        jobs = [job._asdict() | end for job, end in zip(self.jobs, ends, strict=True)]
        held = {"format": 1, **self.record, "arguments": self.arguments, "jobs": jobs}
        self.folder.mkdir(parents=True, exist_ok=True)
        part = self.folder / f".{FILE}.part"
        part.write_text(json.dumps(held, indent=1, ensure_ascii=False), encoding="utf-8")
        os.replace(part, self.folder / FILE)


def _is_within(folder: str) -> bool:
    path = PurePath(folder)
    return bool(path.parts) and not path.is_absolute() and ".." not in path.parts and "\0" not in folder


def varying(jobs: Iterable[Job]) -> list[list[str]]:
    """Each job's overrides without those that all jobs share."""
    overrides = [job.overrides for job in jobs]
    shared = set(overrides[0]).intersection(*overrides) if len(overrides) > 1 else set()
    return [[line for line in lines if line not in shared] for lines in overrides]

"""The record of a sweep. No other module reads or writes its file, `sweep.json`."""

from pathlib import Path

from pydantic import BaseModel, Field

from src.errors import UserError
from src.files import read_json, write_json
from src.formatting import format_now

SWEEP_FILE = "sweep.json"


class Job(BaseModel):
    """One run of a sweep.

    Args:
        number: position in the sweep, from 0.
        folder: output folder, relative to the sweep's folder.
        status: the status of the run when the sweep ended.
    """

    number: int
    overrides: list[str]
    folder: str
    status: str = "pending"


class Sweep(BaseModel):
    """A sweep.

    Args:
        format: version of the format of the file.
        started, finished: times in ISO format, UTC.
        arguments: the command line that started the sweep, including flags.
        jobs: all jobs; in a search, the jobs that have been sampled so far.
    """

    format: int = 1
    started: str = Field(default_factory=format_now)
    finished: str | None = None
    arguments: list[str]
    jobs: list[Job] = []

    @classmethod
    def read(cls, folder: Path) -> "Sweep":
        """Read the sweep in a folder.

        Raises:
            UserError: if the folder contains no sweep, or its file cannot be read.
        """
        path = folder / SWEEP_FILE
        if not path.is_file():
            raise UserError(
                f"{folder} is not the folder of a sweep: it has no {SWEEP_FILE}; sweeps are in …/multiruns/"
            )
        try:
            return read_json(path, cls)
        except (OSError, ValueError) as error:
            raise UserError(f"{path} cannot be read ({error}): start the sweep anew") from error

    def write(self, folder: Path) -> None:
        write_json(folder / SWEEP_FILE, self)

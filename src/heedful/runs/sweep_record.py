"""The record of a sweep, `sweep.json`: its format, and how it is read and written."""

from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, Field

from heedful.base.errors import UserError
from heedful.base.files import validate, write_json
from heedful.base.formatting import format_now

SWEEP_FILE = "sweep.json"


class Job(BaseModel):
    """One run of a sweep: its position from 0, its overrides, and the name of its folder in the sweep's folder."""

    number: int
    overrides: list[str]
    folder: Annotated[str, Field(pattern=r"^\w[\w.-]*$")]


class Sweep(BaseModel):
    """A sweep.

    Args:
        started: time in ISO format, UTC.
        arguments: the command line that started the sweep, including flags.
        jobs: all jobs; in a search, the jobs that have been sampled so far.
    """

    started: str = Field(default_factory=format_now)
    arguments: list[str]
    jobs: list[Job] = []

    @classmethod
    def read(cls, folder: Path) -> "Sweep":
        try:
            return validate((folder / SWEEP_FILE).read_bytes(), cls)
        except FileNotFoundError:
            raise UserError(
                f"{folder} has no {SWEEP_FILE}, which a sweep writes before its first job: nothing can be resumed. Run "
                "the command of the sweep again, or name the folder of another sweep"
            ) from None
        except (OSError, ValueError) as error:
            raise UserError(
                f"{folder} is not the folder of a sweep: its {SWEEP_FILE} cannot be read: {error}"
            ) from error

    def write(self, folder: Path) -> None:
        write_json(folder / SWEEP_FILE, self)

"""What the words of a text do to its prediction, and the file of such texts in a run's folder."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import numpy as np
from pydantic import TypeAdapter

from heedful.base.files import validate, write_text
from heedful.runs.examples import READ, rounded
from heedful.runs.run_files import read_existing

REMOVAL_FILE = "removal.json"
Values = Annotated[np.ndarray, READ, rounded(3)]  # L, one for each word


@dataclass(frozen=True)
class Removal:
    """A test text, and by how much the score of its prediction falls without each of its words."""

    row: int  # in the split
    words: list[str]
    removal: Values  # fall of the log odds of the most probable class, or of the number
    attention: Values  # weights
    branch: Values  # shares in the linear branch; empty without one


REMOVALS = TypeAdapter(list[Removal])


def write_removals(run: Path, texts: Sequence[Removal]) -> None:
    write_text(run / REMOVAL_FILE, REMOVALS.dump_json(list(texts)).decode())


def read_removals(run: Path) -> list[Removal]:
    """Return the texts in `removal.json`; [] without the file."""
    return read_existing(run / REMOVAL_FILE, lambda path: validate(path.read_bytes(), list[Removal])) or []

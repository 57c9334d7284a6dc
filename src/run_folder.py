"""Decide which process writes into the folder of a run, and remove rows from its logs when the run resumes."""

import csv
from pathlib import Path

from pytorch_lightning.utilities import rank_zero_only

from src.files.atomic import replace_atomically
from src.loggers.csv import FILE


def is_main_process() -> bool:
    """Return whether this process writes files, as exactly one process of a distributed run does."""
    return getattr(rank_zero_only, "rank", 0) == 0


def trim_logs(folder: Path, steps: int) -> None:
    """Remove the rows of an earlier run's logs that were written after `steps` optimizer steps."""
    for path in (folder / "csv" / FILE, folder / "gradients.csv"):
        trim(path, steps)


def trim(path: Path, steps: int) -> None:
    """Remove incomplete rows and rows written after `steps` optimizer steps; delete the log if no row remains."""
    if not path.exists():
        return
    with path.open(newline="", encoding="utf-8") as file:
        rows = list(csv.reader(file))
    column = rows[0].index("step") if rows and "step" in rows[0] else None
    remaining = []
    if column is not None:
        remaining = [row for row in rows[1:] if len(row) == len(rows[0]) and int(row[column]) < steps]
    if not remaining:
        path.unlink()
        return
    with replace_atomically(path) as part, part.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file, lineterminator="\n").writerows([rows[0], *remaining])

"""The plan of a sweep, and how its jobs ended, as tables for a terminal."""

import shlex
import sys
from collections.abc import Sequence

from rich import box
from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

from src.sweep.jobs import Job, varying
from src.sweep.outcome import DONE, Outcome

WIDTH = 120  # columns where there is no terminal
UNITS = ((86400, "d"), (3600, "h"), (60, "min"))
COLOURS = {"completed": "green", "pruned": "cyan", "failed": "red"}


def duration(seconds: float) -> str:
    """In one or two units: `1 h 20 min`."""
    for i, (size, unit) in enumerate(UNITS):
        if seconds >= size:
            smaller, name = UNITS[i + 1] if i + 1 < len(UNITS) else (1, "s")
            rest = int(seconds % size // smaller)
            return f"{int(seconds // size)} {unit}" + (f" {rest} {name}" if rest else "")
    return f"{seconds:.1f} s" if seconds < 10 else f"{seconds:.0f} s"


def plan_table(jobs: Sequence[Job], costs: Sequence[tuple[float, str, int]]) -> Table:
    """What would run.

    Args:
        jobs: all of them.
        costs: of each, seconds, what these were reckoned from, and parameters.
    """
    table = _table("#", "overrides", "folder", "parameters", "time", "by")
    for job, overrides, (seconds, basis, parameters) in zip(jobs, varying(jobs), costs, strict=True):
        cells = (shlex.join(overrides), job.folder, f"{parameters:,}", duration(seconds), basis)
        table.add_row(str(job.number), *map(Text, cells))
    return table


def end_table(jobs: Sequence[Job], outcomes: Sequence[Outcome]) -> Table:
    """How the jobs ended, each failure with its reason."""
    table = _table("#", "overrides", "status", "test acc", "time")
    for job, overrides, end in zip(jobs, varying(jobs), outcomes, strict=True):
        accuracy = "" if end.accuracy is None else f"{end.accuracy:.4f}"
        status = Text(end.status, style=COLOURS.get(end.status, "yellow"))
        time = "" if end.seconds is None else duration(end.seconds)
        what = Text(shlex.join(overrides))
        if end.error and end.status not in DONE:
            what.append(f"\n{end.error.splitlines()[0]}", style="red")
        table.add_row(str(job.number), what, status, accuracy, time)
    return table


def show(*parts: RenderableType) -> None:
    """Print to standard output."""
    console = Console(width=None if sys.stdout.isatty() else WIDTH)
    for part in parts:
        console.print(part, soft_wrap=isinstance(part, str))


def _table(*columns: str) -> Table:
    table = Table(box=box.SIMPLE_HEAD)
    for column in columns:
        left = column in ("overrides", "folder", "status", "by")
        table.add_column(column, justify="left" if left else "right", overflow="fold")
    return table

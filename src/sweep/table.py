"""Tables for a terminal: the plan of a sweep, and the results of the jobs."""

from collections.abc import Collection, Sequence

from rich import box
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from src.console import OutputConsole
from src.formatting import format_duration
from src.run_result import RunResult
from src.sweep.jobs import DONE, accuracy, describe
from src.sweep_record import Job

WIDTH = 120  # columns if standard output is not a terminal
COLOURS = {"completed": "green", "pruned": "cyan", "failed": "red"}


def plan_table(jobs: Sequence[Job], shared: Collection[str]) -> Table:
    """Build the table of the jobs that would run, without the overrides that all jobs share."""
    table = _table("#", "overrides", "folder")
    for job in jobs:
        table.add_row(str(job.number), Text(describe(job, shared)), Text(job.folder))
    return table


def result_table(results: Sequence[tuple[Job, RunResult]], shared: Collection[str]) -> Table:
    """Build the table of results, with the reason for each failure or interruption."""
    table = _table("#", "overrides", "status", "accuracy", "time")
    for job, result in results:
        score, seconds = accuracy(result), result.seconds.total
        description = Text(describe(job, shared))
        if result.error and result.status not in DONE:
            description.append(f"\n{result.error.splitlines()[0]}", style="red")
        table.add_row(
            str(job.number),
            description,
            Text(result.status, style=COLOURS.get(result.status, "yellow")),
            "" if score is None else f"{score:.3f}",
            "" if seconds is None else format_duration(seconds),
        )
    return table


def show(*items: RenderableType) -> None:
    """Print texts and tables to standard output."""
    console = OutputConsole(WIDTH)
    for item in items:
        console.print(item, soft_wrap=isinstance(item, str))


def _table(*columns: str) -> Table:
    table = Table(box=box.SIMPLE_HEAD)
    for column in columns:
        is_text = column in ("overrides", "folder", "status")
        table.add_column(column, justify="left" if is_text else "right", overflow="fold")
    return table

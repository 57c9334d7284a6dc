"""Tables for a terminal: the plan of a sweep, and the outcomes of the jobs."""

from collections.abc import Collection, Sequence

from rich import box
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from src.console import OutputConsole
from src.formatting import format_duration
from src.sweep.jobs import Job
from src.sweep.outcome import DONE, Outcome

WIDTH = 120  # columns if standard output is not a terminal
COLOURS = {"completed": "green", "pruned": "cyan", "failed": "red"}


def plan_table(jobs: Sequence[Job], seconds: Sequence[float | None], shared: Collection[str]) -> Table:
    """Build the table of the jobs that would run.

    Args:
        seconds: estimated duration of each job; None if unknown.
        shared: overrides that all jobs share; the table omits them.
    """
    table = _table("#", "overrides", "folder", "time")
    for job, estimate in zip(jobs, seconds, strict=True):
        time = "" if estimate is None else format_duration(estimate)
        table.add_row(str(job.number), *map(Text, (job.describe(shared), job.folder, time)))
    return table


def describe_total(seconds: Sequence[float | None], start: float) -> str:
    """Return a sentence with the estimated duration of the jobs of a sweep.

    Args:
        seconds: estimated duration of each job; None if unknown.
        start: seconds before the first job starts.
    """
    known = [estimate for estimate in seconds if estimate is not None]
    if not known:
        return (
            "Their duration is unknown: no completed run below outputs/ has their settings, or their number of epochs "
            "is not limited."
        )
    subject = "One after another, they take" if len(known) == len(seconds) else f"{len(known)} of them take"
    total = format_duration(start + sum(known))
    return f"{subject} about {total} from the start of the command, according to earlier runs with the same settings."


def outcome_table(jobs: Sequence[Job], outcomes: Sequence[Outcome], shared: Collection[str]) -> Table:
    """Build the table of outcomes, with the reason for each failure or interruption.

    Args:
        shared: overrides that all jobs share; the table omits them.
    """
    table = _table("#", "overrides", "status", "accuracy", "time")
    for job, outcome in zip(jobs, outcomes, strict=True):
        accuracy = "" if outcome.accuracy is None else f"{outcome.accuracy:.4f}"
        status = Text(outcome.status, style=COLOURS.get(outcome.status, "yellow"))
        time = "" if outcome.seconds is None else format_duration(outcome.seconds)
        description = Text(job.describe(shared))
        if outcome.error and outcome.status not in DONE:
            description.append(f"\n{outcome.error.splitlines()[0]}", style="red")
        table.add_row(str(job.number), description, status, accuracy, time)
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

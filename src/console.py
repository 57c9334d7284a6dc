"""Tables on standard output, lines in the log file, and the progress of a pass over rows on standard error."""

import logging
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from src.process import drop_broken_output


class OutputConsole(Console):
    """A console on standard output; it silently discards output to a closed pipe, as with `| head`.

    Args:
        width: number of columns if standard output is not a terminal.
    """

    def __init__(self, width: int = 100) -> None:
        super().__init__(width=None if sys.stdout.isatty() else width)

    def on_broken_pipe(self) -> None:
        drop_broken_output()


def write_log(line: str) -> None:
    """Write a line to the log file, if there is one, but not to the terminal, which shows tables instead."""
    record = logging.LogRecord("src", logging.INFO, __file__, 0, line, (), None)
    for handler in logging.getLogger().handlers:
        if isinstance(handler, logging.FileHandler):
            handler.handle(record)


@contextmanager
def row_progress(verb: str, total: int | None = None, noun: str = "rows") -> Iterator[Callable[[int], None]]:
    """Show the number of rows and the time left, such as "Read rows ━━━ 7/11 0:00:02", if there is a terminal.

    Args:
        total: total number of rows; None if unknown.

    Yields:
        A function to call with the number of rows that were processed since the previous call.
    """
    console = Console(stderr=True)
    columns = (TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task(f"{verb} {noun}", total=total)
        yield lambda count: bar.advance(task, count)

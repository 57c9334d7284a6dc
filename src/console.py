"""Tables on standard output, and the progress of a pass over rows on standard error."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn

from src.formatting import format_duration
from src.process import drop_if_broken

LINE_INTERVAL = 30  # minimum number of seconds between lines


class OutputConsole(Console):
    """A console on standard output; it silently discards output to a closed pipe, as with `| head`.

    Args:
        width: number of columns if standard output is not a terminal.
    """

    def __init__(self, width: int = 100) -> None:
        super().__init__(width=None if sys.stdout.isatty() else width)

    def on_broken_pipe(self) -> None:
        drop_if_broken(sys.stdout)


@contextmanager
def row_progress(verb: str, total: int | None = None, noun: str = "rows") -> Iterator[Callable[[int], None]]:
    """Show the number of rows, the rows per second and the time left: a bar on a terminal, otherwise a line every 30 s.

    Args:
        verb: first word of the line, such as "Classified".
        total: total number of rows; None if unknown.
        noun: plural noun for the rows.

    Yields:
        A function to call with the number of rows that were processed since the previous call.
    """
    console = Console(stderr=True)
    rows, start = 0, time.monotonic()
    last = start
    columns = (TextColumn("{task.description}", markup=False), BarColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task(describe_progress(verb, 0, total, 0, noun), total=total)

        def advance(count: int) -> None:
            nonlocal rows, last
            rows += count
            now = time.monotonic()
            line = describe_progress(verb, rows, total, now - start, noun)
            bar.update(task, completed=rows, description=line)
            if not console.is_terminal and now - last >= LINE_INTERVAL:
                last = now
                print(line, file=sys.stderr, flush=True)

        yield advance


def describe_progress(verb: str, rows: int, total: int | None, seconds: float, noun: str = "rows") -> str:
    """Return a line such as "Classified 12,000 of 200,000 rows, 2,400 rows/s, 1 min 18 s left"."""
    facts = [f"{verb} {rows:,}" + ("" if total is None else f" of {total:,}") + f" {noun}"]
    if seconds > 0:
        rate = rows / seconds
        facts.append(f"{rate:,.0f} {noun}/s" if rate >= 10 else f"{rate:.1f} {noun}/s")
    if total is not None and 0 < rows < total:
        facts.append(f"{format_duration(seconds / rows * (total - rows))} left")
    return ", ".join(facts)

"""Progress of long work on standard error: a bar on a terminal, and otherwise a line now and then."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

INTERVAL = 30.0  # seconds between lines


class Pace:
    """Says when the next line is due."""

    def __init__(self) -> None:
        self._next = time.monotonic() + INTERVAL

    def is_due(self) -> bool:
        """Return whether the last line, or the start, was at least INTERVAL ago."""
        if (now := time.monotonic()) < self._next:
            return False
        self._next = now + INTERVAL
        return True


@contextmanager
def row_progress(
    verb: str, total: int | None = None, noun: str = "rows", is_shown: bool = True
) -> Iterator[Callable[[int], None]]:
    """Show the number of rows and the time left, such as "Read rows ━━━ 7/11 0:00:02", or lines: "Read 7 of 11 rows".

    The function that is yielded is called with the number of rows that were processed since the previous call.
    """
    if not is_shown:
        yield lambda count: None
        return
    if not sys.stderr.isatty():
        yield _lines(verb, total, noun)
        return
    from rich.console import Console  # which lines do not need
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(f"{verb} {noun}", total=total)
        yield lambda count: bar.advance(task, count)


def _lines(verb: str, total: int | None, noun: str) -> Callable[[int], None]:
    """Return a function that counts rows, and prints a line when one is due."""
    pace, done, of = Pace(), 0, "" if total is None else f" of {total:,}"

    def advance(count: int) -> None:
        nonlocal done
        done += count
        if pace.is_due():
            print(f"{verb} {done:,}{of} {noun}", file=sys.stderr, flush=True)

    return advance

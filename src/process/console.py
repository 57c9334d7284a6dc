"""The console to which commands print their tables."""

import sys

from rich.console import Console

from src.process.startup import drop_if_broken


class OutputConsole(Console):
    """A console on standard output; it silently discards output to a closed pipe, as with `| head`.

    Args:
        width: number of columns if standard output is not a terminal.
    """

    def __init__(self, width: int = 100) -> None:
        super().__init__(width=None if sys.stdout.isatty() else width)

    def on_broken_pipe(self) -> None:
        drop_if_broken(sys.stdout)

"""The console of the tables that commands print."""

import sys

from rich.console import Console

from src.process.startup import drop_if_broken


class OutputConsole(Console):
    """Standard output; a closed pipe, as in `| head`, discards further output and does not end the program.

    Args:
        width: columns without a terminal.
    """

    def __init__(self, width: int = 100) -> None:
        super().__init__(width=None if sys.stdout.isatty() else width)

    def on_broken_pipe(self) -> None:
        drop_if_broken(sys.stdout)

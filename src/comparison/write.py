"""A comparison's files, and what the terminal shows."""

import sys
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from src.comparison.comparison import Comparison
from src.comparison.page import render
from src.comparison.tables import render_csv, render_latex, render_markdown, render_terminal
from src.errors import UserError
from src.reports.tables import files_table

FORMATS = {"md": render_markdown, "csv": render_csv, "tex": render_latex, "html": render}


def write(comparison: Comparison, folder: Path) -> list[Path]:
    """Write comparison.md, .csv, .tex and .html.

    Raises:
        UserError: the folder cannot be written to.
    """
    written = []
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for ending, form in FORMATS.items():
            written.append(folder / f"comparison.{ending}")
            written[-1].write_text(form(comparison), encoding="utf-8")
    except (PermissionError, FileExistsError, NotADirectoryError) as error:
        raise UserError(f"{folder} cannot be written to ({error.strerror}): name another with --out") from None
    return written


def show(comparison: Comparison, written: Sequence[Path]) -> None:
    """Print the tables, and where the files are."""
    console = Console(width=None if sys.stdout.isatty() else 100)
    console.print(render_terminal(comparison))
    console.print(files_table(written[0].parent, written))

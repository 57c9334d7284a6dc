"""Write the files of a comparison, and print its tables."""

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
        for suffix, render_format in FORMATS.items():
            written.append(folder / f"comparison.{suffix}")
            written[-1].write_text(render_format(comparison), encoding="utf-8")
    except (PermissionError, FileExistsError, NotADirectoryError) as error:
        raise UserError(f"{folder} cannot be written to ({error.strerror}): name another folder with --out") from None
    return written


def show(comparison: Comparison, written: Sequence[Path]) -> None:
    """Print the tables and the paths of the files."""
    console = Console(width=None if sys.stdout.isatty() else 100)
    console.print(render_terminal(comparison))
    console.print(files_table(written[0].parent, written))

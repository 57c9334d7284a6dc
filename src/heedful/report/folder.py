"""The folders that a report reads, and the folder into which it is written."""

import argparse
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import RenderableType


def add_folders(parser: argparse.ArgumentParser, command: str) -> None:
    """Add the arguments FOLDER… and `--out` to the parser of a command."""
    text = "your own packages whose classes the files of the runs may name"
    parser.add_argument("--trusted-modules", nargs="+", default=[], metavar="PACKAGE", help=text)
    read = "a run, a sweep, or a folder with runs or sweeps"
    parser.add_argument("folders", nargs="+", type=Path, metavar="FOLDER", help=read)
    written = f"output folder; default: FOLDER, or outputs/{command}/<time> if several folders are given"
    parser.add_argument("--out", type=Path, metavar="FOLDER", help=written)


def report_folder(args: argparse.Namespace, command: str) -> Path:
    """Return the output folder: `--out`, or else the only FOLDER, or else `outputs/<command>/<time>`."""
    time = datetime.now().strftime("%Y-%m-%d_%H-%M-%S-%f")
    folder: Path = args.folders[0] if len(args.folders) == 1 else Path("outputs", command, time)
    return args.out or folder


def write_report(folder: Path, texts: Mapping[str, str], tables: "RenderableType") -> None:
    """Write the files of a report, whose names are the keys of `texts`, and print the tables and the paths."""
    from heedful.base.files import write_text
    from heedful.report.terminal import OutputConsole, files_table

    for name, text in texts.items():
        write_text(folder / name, text)
    console = OutputConsole()
    console.print(tables)
    console.print(files_table(folder, [folder / name for name in texts]))

"""The folders that a report reads, and the folder into which it is written."""

import argparse
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from src.errors import UserError

if TYPE_CHECKING:
    from rich.console import RenderableType


def add_folders(parser: argparse.ArgumentParser, command: str) -> None:
    """Add the arguments FOLDER… and `--out` to the parser of a command."""
    parser.add_argument(
        "folders",
        nargs="+",
        type=_folder,
        metavar="FOLDER",
        help="a run, a sweep, or a folder with runs or sweeps",
    )
    parser.add_argument(
        "--out",
        type=_folder,
        metavar="FOLDER",
        help=f"output folder; default: FOLDER, or outputs/{command}/<time> if several folders are given",
    )


def report_folder(folders: Sequence[Path], out: Path | None, command: str) -> Path:
    """Return the output folder: `out`, or else the only folder, or else `outputs/<command>/<time>`.

    Raises:
        UserError: if the output folder cannot be written to.
    """
    from src.config.paths import unwritable_reason

    time = datetime.now().strftime("%Y-%m-%d_%H-%M-%S-%f")
    folder = out or (folders[0] if len(folders) == 1 else Path("outputs") / command / time)
    if (out or folder.is_dir()) and (reason := unwritable_reason(folder)):  # a missing FOLDER is reported later
        raise UserError(f"{folder} cannot be written to ({reason}): name another folder with --out")
    return folder


def write_report(folder: Path, texts: Mapping[str, str], tables: "RenderableType") -> None:
    """Write the files of a report, and print the tables and the paths of the files.

    Args:
        texts: the content of each file, by file name.
    """
    from src.console import OutputConsole
    from src.files import write_text
    from src.report.terminal import files_table

    for name, text in texts.items():
        write_text(folder / name, text)
    console = OutputConsole()
    console.print(tables)
    console.print(files_table(folder, [folder / name for name in texts]))


def _folder(text: str) -> Path:
    if not text.strip():
        raise argparse.ArgumentTypeError("is empty: name a folder")
    return Path(text)

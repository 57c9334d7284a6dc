"""The folder into which a command writes its tables and pages."""

import argparse
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path

from src.errors import UserError


def named_folder(text: str) -> Path:
    """Convert a command-line argument to the path of a folder, as a type for argparse."""
    if not text.strip():
        raise argparse.ArgumentTypeError("is empty: name a folder")
    return Path(text)


def default_folder(command: str) -> Path:
    """Return the default output folder, `outputs/<command>/<time>`, of a command that reads several folders."""
    return Path("outputs") / command / datetime.now().strftime("%Y-%m-%d_%H-%M-%S-%f")


def write_texts(texts: Mapping[str, str], folder: Path) -> list[Path]:
    """Write a file in `folder` for each file name and its text, and return the paths of the files.

    Raises:
        UserError: if the folder cannot be written to.
    """
    paths = [folder / name for name in texts]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for path, text in zip(paths, texts.values(), strict=True):
            path.write_text(text, encoding="utf-8")
    except (PermissionError, FileExistsError, NotADirectoryError) as error:
        raise UserError(f"{folder} cannot be written to ({error.strerror}): name another folder with --out") from None
    return paths

"""The folder into which a command writes its tables and pages."""

import argparse
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path

from src.errors import UserError


def named_folder(text: str) -> Path:
    """The value of an argument of argparse that names a folder."""
    if not text.strip():
        raise argparse.ArgumentTypeError("is empty: name a folder")
    return Path(text)


def default_folder(command: str) -> Path:
    """The folder of a command that reads several folders: `outputs/<command>/<time>`."""
    return Path("outputs") / command / datetime.now().strftime("%Y-%m-%d_%H-%M-%S-%f")


def write_texts(texts: Mapping[str, str], folder: Path) -> list[Path]:
    """Write texts by the names of their files, and return the paths.

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

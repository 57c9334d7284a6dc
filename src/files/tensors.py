"""Read torch files of plain values and tensors, and describe damaged ones."""

import zipfile
from pathlib import Path
from typing import Any

import torch

from src.errors import UserError
from src.files.checksums import require_checksums


def read_tensors(path: Path, mmap: bool = False) -> Any:
    """Read a checkpoint file after a check of its checksums, which torch omits.

    Args:
        path: path of the file.
        mmap: map the file into memory, so that only tensors in use are read.

    Raises:
        UserError: if the file is missing or damaged, or contains more than plain values and tensors.
    """
    _require_file(path)
    try:
        require_checksums(path)
        return torch.load(path, map_location="cpu", mmap=mmap, weights_only=True)
    except Exception as error:  # torch and zipfile raise many types for damaged files
        raise UserError(f"{path}: {_describe_damage(path)}") from error


def _require_file(path: Path) -> None:
    try:
        is_folder, is_file, exists = path.is_dir(), path.is_file(), path.exists()
    except (OSError, ValueError, RuntimeError) as error:  # the path is too long, or has a zero byte or a loop of links
        raise UserError(f"ckpt_path={str(path)[:200]!r}: cannot be read ({error})") from error
    if is_folder:
        raise UserError(f"{path} is a folder: name a file in it, such as {path / 'checkpoints' / 'best.ckpt'}")
    if not exists:
        raise UserError(f"{path}: no such checkpoint; a run writes its checkpoints to <run folder>/checkpoints/")
    if not is_file:
        raise UserError(f"{path} is a pipe or a device: name a checkpoint file")


def _describe_damage(path: Path) -> str:
    """Describe why a file cannot be read; torch writes zip files, whose directory is at the end."""
    try:
        with path.open("rb") as file:
            start = file.read(2)
    except OSError as error:
        return f"cannot be read ({error.strerror})"
    if not start:
        return "the file is empty"
    if start == b"PK" and not _is_intact(path):
        is_cut = not _has_directory(path)
        damage = "is truncated" if is_cut else "is damaged: its checksums do not match"
        return f"the checkpoint {damage}; use another checkpoint, or copy it again"
    return "is not a checkpoint, or contains more than plain values and tensors; use a checkpoint of src.train"


def _has_directory(path: Path) -> bool:
    try:
        return zipfile.is_zipfile(path)
    except zipfile.BadZipFile:  # the directory is inconsistent
        return True


def _is_intact(path: Path) -> bool:
    try:
        require_checksums(path)
    except Exception:  # zipfile raises many types
        return False
    return True

"""Read torch files that contain only plain values and tensors, and check such tensors."""

import zipfile
from pathlib import Path
from typing import Any

import torch

from src.errors import UserError
from src.files import require_checksums
from src.files.plain import require

FOREIGN = "is not a checkpoint, or contains more than plain values and tensors; use a checkpoint that src.train wrote"


def read_tensors(path: Path, mmap: bool = False) -> Any:
    """Read a checkpoint file after verifying its checksums, which torch does not verify.

    Args:
        mmap: whether to map the file into memory, so that only tensors in use are read.

    Raises:
        UserError: if the file cannot be read, is damaged, or contains more than plain values and tensors.
    """
    _require_file(path)
    try:
        require_checksums(path)
    except Exception as error:  # zipfile raises many types
        raise UserError(f"{path}: {_describe_damage(path)}") from error
    try:
        return torch.load(path, map_location="cpu", mmap=mmap, weights_only=True)
    except Exception as error:  # torch raises many types
        raise UserError(f"{path}: {FOREIGN}") from error


def require_number(value: Any, path: str) -> None:
    """Check that a value is a finite real number, or a dense tensor of one real number, which may be infinite.

    Raises:
        ValueError: if the value is anything else, or is NaN.
    """
    require(value, (torch.Tensor, float), path)
    if isinstance(value, torch.Tensor):
        require_dense(value, path)
        if value.shape or value.is_complex():
            raise ValueError(
                f"{path}: expects one number, got a tensor of {value.dtype} and shape {tuple(value.shape)}"
            )
    if value != value:
        raise ValueError(f"{path}: is NaN")


def require_dense(tensor: torch.Tensor, path: str) -> None:
    """Check that a tensor is dense, on the CPU and no larger than its storage.

    Raises:
        ValueError: if the tensor is not dense, is not on the CPU or is larger than its storage.
    """
    if tensor.layout != torch.strided or tensor.is_quantized or tensor.device.type != "cpu":
        raise ValueError(f"{path}: expects a dense tensor on the CPU")
    if tensor.numel() * tensor.element_size() > tensor.untyped_storage().nbytes():
        raise ValueError(f"{path}: its shape {tuple(tensor.shape)} is larger than its data")


def _require_file(path: Path) -> None:
    try:
        is_folder, is_file, exists = path.is_dir(), path.is_file(), path.exists()
    except (OSError, ValueError, RuntimeError) as error:  # the path is too long, contains a null character or is a loop
        raise UserError(f"ckpt_path={str(path)[:200]!r}: cannot be read ({error})") from error
    if is_folder:
        raise UserError(f"{path} is a folder: name a file in it, such as {path / 'checkpoints' / 'best.ckpt'}")
    if not exists:
        raise UserError(f"{path}: no such checkpoint; a run writes its checkpoints to <run folder>/checkpoints/")
    if not is_file:
        raise UserError(f"{path} is a pipe or a device: name a checkpoint file")


def _describe_damage(path: Path) -> str:
    """Return why the checksums could not be verified; torch writes zip files, which end with their directory."""
    try:
        with path.open("rb") as file:
            start = file.read(2)
    except OSError as error:
        return f"cannot be read ({error.strerror})"
    if not start:
        return "the file is empty"
    if start != b"PK":
        return FOREIGN
    damage = "is damaged: its checksums do not match" if _has_directory(path) else "is truncated"
    return f"the checkpoint {damage}; use another checkpoint, or copy it again"


def _has_directory(path: Path) -> bool:
    try:
        return zipfile.is_zipfile(path)
    except zipfile.BadZipFile:  # the directory is inconsistent
        return True

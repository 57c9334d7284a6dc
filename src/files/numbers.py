"""Check numbers in files from elsewhere."""

from typing import Any

import torch

from src.files.plain import require


def require_number(value: Any, path: str) -> None:
    """Check that a value is a real number, or a tensor of one; infinity is allowed.

    Raises:
        ValueError: if it is something else, or is NaN.
    """
    require(value, (torch.Tensor, float), path)
    if isinstance(value, torch.Tensor) and (value.shape or value.is_complex() or value.layout != torch.strided):
        raise ValueError(f"{path}: expects one number, got a tensor of {value.dtype} and shape {tuple(value.shape)}")
    if value != value:
        raise ValueError(f"{path}: is NaN")

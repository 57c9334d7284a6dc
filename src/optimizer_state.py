"""Check the state of an optimizer in a checkpoint, which may be hostile."""

from typing import Any

import torch

from src.dry_build.optimizer import EXAMPLE_SHAPE
from src.files.plain import require
from src.files.tensors import require_dense, require_number


def require_options(saved: dict[str, Any], current: dict[str, Any], path: str) -> None:
    """Check the types of the options of a saved parameter group; options that it lacks are not checked.

    Raises:
        ValueError: if an option does not fit the type of the same option in the `current` group, or is NaN or infinite;
            only a tensor may be infinite.
    """
    for name, value in current.items():
        if name != "params" and name in saved:
            _require_same_type(saved[name], value, f"{path}.{name}")


def _require_same_type(saved: Any, current: Any, path: str) -> None:
    if isinstance(current, torch.Tensor):
        require_number(saved, path)
    elif isinstance(current, tuple):
        require(saved, tuple, path)
        if len(saved) != len(current):
            raise ValueError(f"{path}: expects {len(current)} values, got {len(saved)}")
        for i, pair in enumerate(zip(saved, current, strict=True)):
            _require_same_type(*pair, f"{path}[{i}]")
    elif current is None or isinstance(current, bool):  # such as `foreach`, which may be a boolean or None
        require(saved, (bool, None), path)
    else:
        require(saved, float if isinstance(current, int | float) else type(current), path)


def require_parameter_state(state: Any, parameter: torch.Tensor, example: dict[str, Any], path: str) -> None:
    """Check the saved state of a parameter; a fused optimizer would access memory outside a tensor of the wrong shape.

    Args:
        state: the saved state; empty before the first step of the parameter.
        example: the state of a parameter of the shape `EXAMPLE_SHAPE`; empty if this state is unknown.

    Raises:
        ValueError: if a value is missing, or its type or shape does not fit the parameter.
    """
    require(state, dict, path)
    for name, expected in example.items() if state else ():
        if name not in state:
            raise ValueError(f"{path}.{name} is missing")
        value, entry_path = state[name], f"{path}.{name}"
        if not isinstance(expected, torch.Tensor) or not expected.shape:
            _require_same_type(value, expected, entry_path)
            continue
        require(value, torch.Tensor, entry_path)
        if expected.shape == EXAMPLE_SHAPE and value.shape != parameter.shape:
            raise ValueError(
                f"{entry_path}: its shape {tuple(value.shape)} is not the parameter's shape {tuple(parameter.shape)}"
            )
        if not value.is_floating_point():
            raise ValueError(f"{entry_path}: expects a tensor of floating-point numbers, got {value.dtype}")
        require_dense(value, entry_path)

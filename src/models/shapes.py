"""Checks of the shapes of component outputs."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from src.errors import UserError
from src.models.component import Encoded


class ShapeError(UserError):
    """A component returned an object of the wrong type, or a tensor of the wrong shape or dtype."""


def name_of(component: object) -> str:
    cls = type(component)
    return f"{cls.__module__}.{cls.__qualname__}"


def require_shape(component: object, method: str, value: Any, letters: str, sizes: Sequence[int | None]) -> None:
    """Raise a ShapeError unless `value`, the result of `component.method`, is a tensor with the shape `sizes`.

    Args:
        letters: the shape in letters (see `src.models.component`), such as N×T, for the message.
        sizes: required size of each dimension; None allows any size.
    """
    shape = value.shape if isinstance(value, Tensor) else None
    has_rank = shape is not None and len(shape) == len(sizes)
    if has_rank and all(size is None or size == actual for actual, size in zip(value.shape, sizes, strict=True)):
        return
    required = "×".join(
        letter if size is None else str(size) for letter, size in zip(letters.split("×"), sizes, strict=True)
    )
    if shape is None:
        result = f"{'an' if isinstance(value, Encoded) else 'a'} {type(value).__name__}, not a tensor"
    else:
        result = "a tensor of shape " + ("×".join(map(str, shape)) or "() (a single number)")
    raise ShapeError(f"{name_of(component)}.{method} returned {result}; the shape must be {letters} = {required}")


def require_encoded(component: Any, value: Any, texts: int) -> Encoded:
    """Check the shapes and types in `value`, the output of an encoder or an attention mechanism, and return it.

    Raises:
        ShapeError: if a type is wrong, or if a shape contradicts `texts`, `output_dim` or another shape.
    """
    if not isinstance(value, Encoded):
        raise ShapeError(
            f"{name_of(component)}.forward returned a {type(value).__name__}; it must return "
            "src.models.component.Encoded(states N×T×D, mask N×T, summary N×D)"
        )
    dim = component.output_dim
    require_shape(component, "forward (states)", value.states, "N×T×D", (texts, None, dim))
    require_shape(component, "forward (mask)", value.mask, "N×T", (texts, value.states.shape[1]))
    require_shape(component, "forward (summary)", value.summary, "N×D", (texts, dim))
    if value.mask.dtype != torch.bool:
        raise ShapeError(
            f"{name_of(component)}.forward returned a mask of {value.mask.dtype}; a mask must be torch.bool, True for "
            "a real token"
        )
    return value

"""A check of the shapes that the components of a model return, which may be a user's own classes."""

import logging
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from src.errors import UserError
from src.models.classifier import Classifier
from src.models.component import Encoded

log = logging.getLogger(__name__)
TEXTS, TOKENS = 3, 7  # different primes, so that swapped dimensions are detected


class ShapeError(UserError):
    """A component returned an object of the wrong type, or a tensor of the wrong shape or dtype."""


def name_of(component: object) -> str:
    return f"{type(component).__module__}.{type(component).__qualname__}"


def check_shapes(model: Classifier, num_logits: int) -> None:
    """Pass a small batch through the model, and raise a ShapeError if the output of a component has a wrong shape.

    Other exceptions are only logged, because the error of the first training step says more.
    """
    value: Any = torch.ones(TEXTS, TOKENS, dtype=torch.int64, device=next(model.parameters()).device)
    mask = value.bool()
    try:
        with torch.no_grad():
            for part in (model.embedding, model.position):
                value = part(value, mask)
                _require(part, "forward", value, "N×L×D", (TEXTS, TOKENS, part.output_dim))
            value = _require_encoded(model.encoder, model.encoder(value, mask))
            weights = model.attention.weights(value)
            _require(model.attention, "weights", weights, "N×H×T×L", (TEXTS, None, None, value.states.shape[1]))
            value = model.pooling(_require_encoded(model.attention, model.attention(value)))
            _require(model.pooling, "forward", value, "N×D", (TEXTS, model.pooling.output_dim))
            _require(model.head, "forward", model.head(value), "N×num_logits", (TEXTS, num_logits))
    except ShapeError:
        raise
    except Exception as error:
        log.debug("The shapes cannot be checked: %s", error)


def _require_encoded(component: Any, value: Any) -> Encoded:
    if not isinstance(value, Encoded) or value.mask.dtype != torch.bool:
        raise ShapeError(
            f"{name_of(component)}.forward returned a {type(value).__name__}; it must return "
            "src.models.component.Encoded(states N×T×D, mask N×T torch.bool, summary N×D)"
        )
    _require(component, "forward (states)", value.states, "N×T×D", (TEXTS, None, component.output_dim))
    _require(component, "forward (mask)", value.mask, "N×T", value.states.shape[:2])
    _require(component, "forward (summary)", value.summary, "N×D", (TEXTS, component.output_dim))
    return value


def _require(component: object, method: str, value: Any, letters: str, sizes: Sequence[int | None]) -> None:
    """Raise a ShapeError unless `value` is a tensor with the shape `sizes`, in which None allows any size."""
    shape = tuple(value.shape) if isinstance(value, Tensor) else ()
    if len(shape) == len(sizes) and all(size in (None, own) for size, own in zip(sizes, shape, strict=True)):
        return
    required = "×".join(str(size or letter) for size, letter in zip(sizes, letters.split("×"), strict=True))
    result = f"a tensor of shape {shape}" if isinstance(value, Tensor) else f"a {type(value).__name__}, not a tensor"
    raise ShapeError(f"{name_of(component)}.{method} returned {result}; the shape must be {letters} = {required}")

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


def require_shape(component: object, method: str, value: Any, letters: str, sizes: Sequence[int | None]) -> None:
    """Raise a ShapeError unless `value`, the result of `component.method`, is a tensor with the shape `sizes`.

    Args:
        letters: the shape in letters (see `src.models.component`), such as N×T, for the message.
        sizes: required size of each dimension; None allows any size.
    """
    shape = tuple(value.shape) if isinstance(value, Tensor) else None
    if shape and len(shape) == len(sizes) and all(size in (None, own) for size, own in zip(sizes, shape, strict=True)):
        return
    required = "×".join(str(size or letter) for size, letter in zip(sizes, letters.split("×"), strict=True))
    result = f"a {type(value).__name__}, not a tensor" if shape is None else f"a tensor of shape {shape}"
    raise ShapeError(f"{name_of(component)}.{method} returned {result}; the shape must be {letters} = {required}")


def check_shapes(model: Classifier, num_logits: int) -> None:
    """Pass a small batch through the model, and raise a ShapeError if the output of a component has a wrong shape.

    Other exceptions are only logged, because the error of the first training step says more.
    """
    try:
        with torch.no_grad():
            _check(model, num_logits)
    except ShapeError:
        raise
    except Exception as error:
        log.debug("The shapes cannot be checked: %s", error)


def _check(model: Classifier, num_logits: int) -> None:
    tokens = torch.ones(TEXTS, TOKENS, dtype=torch.int64, device=next(model.parameters()).device)
    mask = tokens.bool()

    vectors = model.embedding(tokens, mask)
    require_shape(model.embedding, "forward", vectors, "N×L×D", (TEXTS, TOKENS, model.embedding.output_dim))
    states = model.position(vectors, mask)
    require_shape(model.position, "forward", states, "N×L×D", (TEXTS, TOKENS, model.position.output_dim))
    encoded = _check_encoded(model.encoder, model.encoder(states, mask))
    attended = _check_encoded(model.attention, model.attention(encoded))
    weights = model.attention.weights(encoded)
    require_shape(model.attention, "weights", weights, "N×H×T×L", (TEXTS, None, None, encoded.states.shape[1]))
    pooled = model.pooling(attended)
    require_shape(model.pooling, "forward", pooled, "N×D", (TEXTS, model.pooling.output_dim))
    require_shape(model.head, "forward", model.head(pooled), "N×num_logits", (TEXTS, num_logits))


def _check_encoded(component: Any, value: Any) -> Encoded:
    if not isinstance(value, Encoded):
        raise ShapeError(
            f"{name_of(component)}.forward returned a {type(value).__name__}; it must return "
            "src.models.component.Encoded(states N×T×D, mask N×T, summary N×D)"
        )
    require_shape(component, "forward (states)", value.states, "N×T×D", (TEXTS, None, component.output_dim))
    require_shape(component, "forward (mask)", value.mask, "N×T", value.states.shape[:2])
    require_shape(component, "forward (summary)", value.summary, "N×D", (TEXTS, component.output_dim))
    if value.mask.dtype != torch.bool:
        raise ShapeError(f"{name_of(component)}.forward returned a mask of {value.mask.dtype}; it must be torch.bool")
    return value

"""Whether components return tensors of the shapes that the next ones read."""

import logging
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from src.errors import UserError
from src.models.types import Encoded

if TYPE_CHECKING:  # its components import this module
    from src.models.classifier import Classifier

log = logging.getLogger(__name__)

TEXTS, TOKENS = 3, 7  # different primes, so that a swap of both shows


class ShapeError(UserError):
    """A component returned another shape or type than its place in the model requires."""


def name_of(component: object) -> str:
    cls = type(component)
    return f"{cls.__module__}.{cls.__qualname__}"


def require_shape(component: object, method: str, value: Any, letters: str, sizes: Sequence[int | None]) -> None:
    """Raise a ShapeError unless `value`, which `component.method` returned, is a tensor of these sizes.

    Args:
        letters: the shape in the letters of `src.models.types`, such as N×T.
        sizes: of each letter; None where any size will do.
    """
    shape = value.shape if isinstance(value, Tensor) else None
    if shape is not None and len(shape) == len(sizes) and all(map(_fits, shape, sizes)):
        return
    wanted = "×".join(
        letter if size is None else str(size) for letter, size in zip(letters.split("×"), sizes, strict=True)
    )
    if shape is None:
        result = f"{'an' if isinstance(value, Encoded) else 'a'} {type(value).__name__}, not a tensor"
    else:
        result = "a tensor of shape " + ("×".join(map(str, shape)) or "() (a single number)")
    raise ShapeError(f"{name_of(component)}.{method} returned {result}; the shape must be {letters} = {wanted}")


def _fits(actual: int, size: int | None) -> bool:
    return size is None or size == actual


def require_encoded(component: Any, value: Any, texts: int) -> Encoded:
    """The result of an encoder or attention for so many texts, if its parts fit together and its `output_dim`.

    Raises:
        ShapeError: if they do not.
    """
    if not isinstance(value, Encoded):
        raise ShapeError(
            f"{name_of(component)}.forward returned a {type(value).__name__}; it must return "
            "src.models.types.Encoded(states N×T×D, mask N×T, summary N×D)"
        )
    dim = component.output_dim
    require_shape(component, "forward (states)", value.states, "N×T×D", (texts, None, dim))
    require_shape(component, "forward (mask)", value.mask, "N×T", (texts, value.states.shape[1]))
    require_shape(component, "forward (summary)", value.summary, "N×D", (texts, dim))
    if value.mask.dtype != torch.bool:
        raise ShapeError(
            f"{name_of(component)}.forward (mask) returned {value.mask.dtype}; a mask must be torch.bool, True for a "
            "real token"
        )
    return value


def check_shapes(model: "Classifier", num_logits: int) -> None:
    """Let a tiny batch through the model, on its own device, and check what each component returns.

    What else a component raises is not reported here: some may need more than a tiny batch on the meta device.

    Raises:
        ShapeError: names the class, the shape that it returned and the shape that is required.
    """
    try:
        with torch.no_grad():
            _check(model, num_logits)
    except ShapeError:
        raise
    except Exception as error:
        log.debug("The shapes cannot be checked: %s", error)


def _check(model: Any, num_logits: int) -> None:
    tokens = torch.ones(TEXTS, TOKENS, dtype=torch.int64, device=next(model.parameters()).device)
    mask = tokens.bool()

    vectors = model.embedding(tokens, mask)
    require_shape(model.embedding, "forward", vectors, "N×L×D", (TEXTS, TOKENS, model.embedding.output_dim))
    states = model.position(vectors, mask)
    require_shape(model.position, "forward", states, "N×L×D", (TEXTS, TOKENS, model.position.output_dim))
    encoded = require_encoded(model.encoder, model.encoder(states, mask), TEXTS)
    attended = require_encoded(model.attention, model.attention(encoded), TEXTS)
    weights = model.attention.weights(encoded)
    require_shape(model.attention, "weights", weights, "N×H×T×L", (TEXTS, None, None, encoded.states.shape[1]))
    pooled = model.pooling(attended)
    require_shape(model.pooling, "forward", pooled, "N×D", (TEXTS, model.pooling.output_dim))
    require_shape(model.head, "forward", model.head(pooled), "N×num_logits", (TEXTS, num_logits))

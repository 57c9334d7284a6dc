"""A check of the output shapes of a model's components."""

import logging

import torch

from src.models.classifier import Classifier
from src.models.shapes import ShapeError, require_encoded, require_shape

log = logging.getLogger(__name__)

TEXTS, TOKENS = 3, 7  # different primes, so that swapped dimensions are detected


def check_shapes(model: Classifier, num_logits: int) -> None:
    """Pass a small batch through the model, on the model's device, and check the output of each component.

    Exceptions other than a ShapeError are only logged, because some components may not support the meta device.

    Raises:
        ShapeError: if a shape is wrong; the message names the class, the returned shape and the required shape.
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
    encoded = require_encoded(model.encoder, model.encoder(states, mask), TEXTS)
    attended = require_encoded(model.attention, model.attention(encoded), TEXTS)
    weights = model.attention.weights(encoded)
    require_shape(model.attention, "weights", weights, "N×H×T×L", (TEXTS, None, None, encoded.states.shape[1]))
    pooled = model.pooling(attended)
    require_shape(model.pooling, "forward", pooled, "N×D", (TEXTS, model.pooling.output_dim))
    require_shape(model.head, "forward", model.head(pooled), "N×num_logits", (TEXTS, num_logits))

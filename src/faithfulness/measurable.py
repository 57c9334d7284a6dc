"""Check that the measures support the components of a model, before any long computation."""

from typing import Any

import torch

from src.data.trained_tokenizer import UNKNOWN_ID
from src.errors import UserError
from src.faithfulness.probe import Probe, differentiable_rnns
from src.models.component import Encoded
from src.models.shapes import require_shape

LENGTH = 3  # number of tokens in the test text


def require_measurable(probe: Probe, run: str) -> None:
    """Apply each component of a model to a short text, and check the attention weights and the gradients.

    Args:
        probe: the model; its components may be a user's own classes.
        run: name of the run, for the message.

    Raises:
        UserError: if a component fails, the attention weights do not have the shape N×H×T×L, or a result has no
            gradient with respect to the word vectors.
    """
    model = probe.model
    tokens = torch.full((1, LENGTH), UNKNOWN_ID, device=probe.device)
    mask = torch.ones_like(tokens, dtype=torch.bool)
    for name in ("embedding", "position", "encoder", "attention", "pooling", "head"):
        component: Any = getattr(model, name)
        prefix = f"{run}: model.{name} ({type(component).__name__}) cannot be measured"
        try:
            with differentiable_rnns():
                if name == "embedding":
                    value = component(tokens, mask).detach().requires_grad_()
                    continue
                if name == "attention":
                    require_shape(component, "weights", component.weights(value), "N×H×T×L", (1, None, None, LENGTH))
                value = component(value, mask) if name in ("position", "encoder") else component(value)
        except Exception as error:
            raise UserError(f"{prefix}: {type(error).__name__}: {error}") from error
        result = value.states if isinstance(value, Encoded) else value
        if not result.requires_grad:
            raise UserError(f"{prefix}: its result has no gradient with respect to the word vectors")

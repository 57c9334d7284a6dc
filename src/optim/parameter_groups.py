"""Which parameters an optimizer treats alike."""

from collections.abc import Mapping
from typing import Any

from src.models.classifier import Classifier


def parameter_groups(model: Classifier, per_part: Mapping[str, Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Everything that is trained, in one group for each set of options, so that an optimizer launches few kernels.

    Args:
        model: whose parts are named embedding, position, encoder, attention, pooling and head.
        per_part: options of the optimizer for one part. Its `weight_decay` acts on matrices, and neither on biases
            nor on norms, as a kernel regularizer does.

    Raises:
        ValueError: if `per_part` names what is no part of the model.
    """
    parts = dict(model.named_children())
    if unknown := set(per_part) - set(parts):
        raise ValueError(f"{', '.join(sorted(unknown))}: no such part; the parts are {', '.join(parts)}")
    groups: dict[str, dict[str, Any]] = {}
    for name, part in parts.items():
        for parameter in part.parameters():
            if parameter.requires_grad:
                own = dict(per_part.get(name, {}))
                if parameter.dim() < 2 and "weight_decay" in own:
                    own["weight_decay"] = 0.0
                groups.setdefault(repr(sorted(own.items())), {"params": [], **own})["params"].append(parameter)
    return list(groups.values())

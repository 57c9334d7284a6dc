"""The parameter groups of an optimizer."""

from collections.abc import Mapping
from typing import Any

from src.models.classifier import Classifier


def parameter_groups(model: Classifier, param_groups: Mapping[str, Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Group the trained parameters by their optimizer options, because fewer groups need fewer kernel launches.

    Args:
        param_groups: optimizer options by component name: embedding, position, encoder, attention, pooling or head. As
            with a Keras kernel regularizer, a `weight_decay` in these options does not apply to parameters with fewer
            than two dimensions, such as biases and the weights of layer norm.

    Raises:
        ValueError: if `param_groups` names an unknown component.
    """
    components = dict(model.named_children())
    if unknown := set(param_groups) - set(components):
        raise ValueError(f"{', '.join(sorted(unknown))}: no such component; the components are {', '.join(components)}")
    groups: dict[str, dict[str, Any]] = {}
    for name, component in components.items():
        for parameter in component.parameters():
            if parameter.requires_grad:
                options = dict(param_groups.get(name, {}))
                if parameter.dim() < 2 and "weight_decay" in options:
                    options["weight_decay"] = 0.0
                groups.setdefault(repr(sorted(options.items())), {"params": [], **options})["params"].append(parameter)
    return list(groups.values())

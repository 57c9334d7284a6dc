"""The parameter groups of an optimizer, and a check that it supports the model's row-sparse gradients."""

from collections.abc import Mapping
from typing import Any

from torch.optim import SGD, Optimizer

from heedful.base.errors import UserError
from heedful.models.classifier import Classifier
from heedful.training.optim.adagrad import Adagrad


def parameter_groups(model: Classifier, param_groups: Mapping[str, Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Group the trained parameters by their optimizer options, because fewer groups need fewer kernel launches.

    Args:
        param_groups: optimizer options by component name. As with a Keras kernel regularizer, a `weight_decay` in these
            options does not apply to parameters with fewer than two dimensions, such as biases and the weights of
            layer norm.
    """
    groups: dict[str, dict[str, Any]] = {}
    for name, component in model.named_children():
        for parameter in component.parameters():
            if parameter.requires_grad:
                options = dict(param_groups.get(name, {}))
                if parameter.dim() < 2 and "weight_decay" in options:
                    options["weight_decay"] = 0.0
                groups.setdefault(repr(sorted(options.items())), {"params": [], **options})["params"].append(parameter)
    return list(groups.values())


def require_sparse_support(model: Classifier, optimizer: Optimizer, clips_gradients: bool) -> None:
    """Raise a UserError if the model has row-sparse gradients, which the optimizer or the training does not support."""
    modules = [module for module in model.modules() if getattr(module, "sparse", False)]
    sparse = {parameter for module in modules for parameter in module.parameters()}
    if not sparse:
        return
    dense = "or set model.embedding.sparse=false"
    if not isinstance(optimizer, (Adagrad, SGD)):
        name = type(optimizer).__name__
        raise UserError(f"optimizer: {name} does not support row-sparse gradients; choose optimizer=adagrad {dense}")
    if any(group["weight_decay"] and not sparse.isdisjoint(group["params"]) for group in optimizer.param_groups):
        raise UserError(f"weight_decay: row-sparse gradients do not support it; set it to 0, {dense}")
    if clips_gradients:
        raise UserError(f"trainer.gradient_clip_val: row-sparse gradients cannot be clipped; set it to null, {dense}")

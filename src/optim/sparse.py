"""Detect row-sparse gradients, and check that the optimizer supports them."""

from torch import nn
from torch.optim import SGD, Optimizer

from src.errors import UserError
from src.optim.adagrad import Adagrad

SUPPORTING = (Adagrad, SGD)


def has_sparse_gradients(model: nn.Module) -> bool:
    """Return whether the gradients of an embedding table in the model contain only the rows of a batch."""
    return any(getattr(module, "sparse", False) for module in model.modules())


def require_sparse_support(optimizer: Optimizer, clips_gradients: bool) -> None:
    """Check that an optimizer and the training support row-sparse gradients.

    Raises:
        UserError: if the optimizer or the training does not support them.
    """
    dense = "or set model.embedding.sparse=false"
    if not isinstance(optimizer, SUPPORTING):
        name = type(optimizer).__name__
        raise UserError(f"optimizer: {name} does not support row-sparse gradients; choose optimizer=adagrad {dense}")
    if any(group["weight_decay"] for group in optimizer.param_groups):
        raise UserError(f"weight_decay: row-sparse gradients do not support it; set it to 0, {dense}")
    if clips_gradients:
        raise UserError(f"trainer.gradient_clip_val: row-sparse gradients cannot be clipped; set it to null, {dense}")

"""Row-sparse gradients, and a check that the optimizer and the training support them."""

from torch import nn
from torch.optim import SGD, Optimizer

from src.errors import UserError
from src.optim.adagrad import Adagrad


def has_sparse_gradients(model: nn.Module) -> bool:
    """Return whether the model has an embedding table whose gradient contains only the rows that a batch uses."""
    return any(getattr(module, "sparse", False) for module in model.modules())


def require_sparse_support(optimizer: Optimizer, clips_gradients: bool) -> None:
    """Check that the optimizer and the training support row-sparse gradients.

    Raises:
        UserError: if the optimizer is neither Heed's Adagrad nor SGD, if a weight decay is set, or if gradients are
            clipped.
    """
    dense = "or set model.embedding.sparse=false"
    if not isinstance(optimizer, (Adagrad, SGD)):
        name = type(optimizer).__name__
        raise UserError(f"optimizer: {name} does not support row-sparse gradients; choose optimizer=adagrad {dense}")
    if any(group["weight_decay"] for group in optimizer.param_groups):
        raise UserError(f"weight_decay: row-sparse gradients do not support it; set it to 0, {dense}")
    if clips_gradients:
        raise UserError(f"trainer.gradient_clip_val: row-sparse gradients cannot be clipped; set it to null, {dense}")

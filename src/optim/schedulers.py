"""Schedulers that step after every batch; all others step after an epoch."""

from collections.abc import Callable
from typing import Any

from torch.optim import Optimizer
from torch.optim.lr_scheduler import LinearLR, OneCycleLR

STEP_OPTIONS: dict[type, Callable[[Optimizer, int], dict[str, Any]]] = {  # from an optimizer and a number of steps
    OneCycleLR: lambda optimizer, steps: {
        "max_lr": [group["lr"] for group in optimizer.param_groups],
        "total_steps": steps,
    },
    LinearLR: lambda optimizer, steps: {"total_iters": steps},
}


def steps_every_batch(scheduler: type | None) -> bool:
    """Whether a scheduler's class plans every step of a training, and therefore needs the number of steps."""
    return scheduler is not None and issubclass(scheduler, tuple(STEP_OPTIONS))


def step_options(scheduler: type | None, optimizer: Optimizer, steps: int) -> dict[str, Any]:
    """The options that a scheduler takes from the training.

    Args:
        scheduler: its class.
        optimizer: an optimizer whose learning rates are set.
        steps: batches of the whole training.

    Returns:
        Options by name; empty if the scheduler steps after an epoch.
    """
    if scheduler is None or not steps_every_batch(scheduler):
        return {}
    return next(options for kind, options in STEP_OPTIONS.items() if issubclass(scheduler, kind))(optimizer, steps)

"""Learning-rate schedulers that step after every batch; all others step after every epoch."""

from collections.abc import Callable
from typing import Any

from torch.optim import Optimizer
from torch.optim.lr_scheduler import LinearLR, OneCycleLR

STEP_OPTIONS: dict[type, Callable[[Optimizer, int], dict[str, Any]]] = {  # from the optimizer and the number of steps
    OneCycleLR: lambda optimizer, steps: {
        "max_lr": [group["lr"] for group in optimizer.param_groups],
        "total_steps": steps,
    },
    LinearLR: lambda optimizer, steps: {"total_iters": steps},
}


def steps_every_batch(scheduler: type | None) -> bool:
    """Return whether a scheduler class steps after every batch; such a scheduler needs the number of training steps."""
    return scheduler is not None and issubclass(scheduler, tuple(STEP_OPTIONS))


def step_options(scheduler: type | None, optimizer: Optimizer, steps: int) -> dict[str, Any]:
    """Return those options of a scheduler class that depend on the optimizer and the length of the training.

    Args:
        scheduler: None if there is no scheduler.
        optimizer: an optimizer whose learning rates are set.
        steps: number of optimizer steps of the whole training.

    Returns:
        Options by name; empty if the scheduler steps after every epoch.
    """
    if scheduler is None or not steps_every_batch(scheduler):
        return {}
    return next(options for kind, options in STEP_OPTIONS.items() if issubclass(scheduler, kind))(optimizer, steps)

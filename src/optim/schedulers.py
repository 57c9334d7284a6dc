"""The learning-rate schedulers that step after every optimizer step; all others step after every epoch."""

from typing import Any

from torch.optim import Optimizer
from torch.optim.lr_scheduler import LinearLR, OneCycleLR


def advances_every_step(scheduler: type | None) -> bool:
    """Return whether a scheduler class steps after every optimizer step, and so needs the number of all steps."""
    return scheduler is not None and issubclass(scheduler, (OneCycleLR, LinearLR))


def step_options(scheduler: type | None, optimizer: Optimizer, steps: int) -> dict[str, Any]:
    """Return the options of a scheduler class that depend on the learning rates and on the number of all steps."""
    if scheduler is None or not advances_every_step(scheduler):
        return {}
    if issubclass(scheduler, OneCycleLR):
        return {"max_lr": [group["lr"] for group in optimizer.param_groups], "total_steps": steps}
    return {"total_iters": steps}

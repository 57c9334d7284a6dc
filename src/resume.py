"""Whether training can resume from a checkpoint, checked before the data are read."""

from typing import Any

import torch
from omegaconf import DictConfig, OmegaConf

from src.checkpoint import read_checkpoint
from src.errors import UserError

PLANNED = ("OneCycleLR", "LinearLR")  # schedulers that are planned for a number of steps


def require_resumable(cfg: DictConfig, optimizer: torch.optim.Optimizer | None) -> None:
    """Check that a run continues what the checkpoint `cfg.ckpt_path` was trained with.

    Args:
        cfg: the run's configuration.
        optimizer: the run's, with its parameter groups; None where it is not known yet.

    Raises:
        UserError: if the checkpoint is damaged, or was trained with another optimizer, other parameter groups,
            another scheduler or for more epochs.
    """
    content = read_checkpoint(cfg.ckpt_path, training=cfg.train, mmap=True)
    if not cfg.train:
        return
    before = content["heed"]["config"]
    now: Any = OmegaConf.to_container(cfg, resolve=True)
    for key in ("optimizer", "scheduler"):
        theirs, ours = ((config.get(key) or {}).get("_target_", "none") for config in (before, now))
        if theirs != ours:
            raise _refusal(cfg, f"{key}: was {theirs}, and is {ours}")
    if (before.get("per_part") or {}) != (now.get("per_part") or {}):
        raise _refusal(cfg, f"per_part: was {before.get('per_part') or {}}, and is {now['per_part'] or {}}")
    trained, limit = content["epoch"] + 1, cfg.trainer.get("max_epochs")
    if limit is not None and 0 <= limit < trained:
        raise UserError(
            f"trainer.max_epochs={limit}: the checkpoint {cfg.ckpt_path} is in epoch {trained} already; set "
            f"trainer.max_epochs to {trained} or more"
        )
    planned = (before.get("trainer") or {}).get("max_epochs")
    if planned != limit and str((now.get("scheduler") or {}).get("_target_")).endswith(PLANNED):
        raise _refusal(cfg, f"trainer.max_epochs: the scheduler was planned for {planned} epochs, and is for {limit}")
    if optimizer is not None:
        require_same_groups(cfg, content["optimizer_states"], optimizer)


def require_same_groups(cfg: DictConfig, states: list[Any], optimizer: torch.optim.Optimizer) -> None:
    """Check that an optimizer's saved states belong to an optimizer.

    Raises:
        UserError: if there are other options, or other numbers of groups or parameters.
    """
    if len(states) != 1:
        raise _refusal(cfg, f"optimizer: has the states of {len(states)} optimizers, and 1 is needed")
    theirs, ours = states[0]["param_groups"], optimizer.param_groups
    if missing := [name for name in optimizer.defaults if any(name not in group for group in theirs)]:
        raise _refusal(cfg, f"optimizer: its state lacks {', '.join(missing)} of {type(optimizer).__name__}")
    sizes = [[len(group["params"]) for group in groups] for groups in (theirs, ours)]
    if sizes[0] != sizes[1]:
        raise _refusal(cfg, f"optimizer: had groups of {sizes[0]} parameters, and has groups of {sizes[1]}")


def _refusal(cfg: DictConfig, difference: str) -> UserError:
    return UserError(
        f"ckpt_path={cfg.ckpt_path}: training cannot resume from it. {difference}. Set this as it was, or leave "
        "ckpt_path out to train anew"
    )

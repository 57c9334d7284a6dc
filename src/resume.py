"""Check whether training can resume from a checkpoint, before the data are read."""

from typing import Any

import torch
from omegaconf import DictConfig, OmegaConf

from src.checkpoint import read_checkpoint
from src.config.keys import with_present_names
from src.errors import UserError

PLANNED = ("OneCycleLR", "LinearLR")  # schedulers that depend on the number of steps


def require_resumable(cfg: DictConfig, optimizer: torch.optim.Optimizer | None) -> None:
    """Check that a run matches the training of the checkpoint `cfg.ckpt_path`.

    Args:
        cfg: the run's configuration.
        optimizer: the optimizer of the run, with its parameter groups; None if it is not known yet.

    Raises:
        UserError: if the checkpoint is damaged, or was trained with another optimizer, other parameter groups,
            another scheduler or for more epochs.
    """
    content = read_checkpoint(cfg.ckpt_path, training=cfg.train, mmap=True)
    if not cfg.train:
        return
    saved_config = with_present_names(content["heed"]["config"])
    config: Any = OmegaConf.to_container(cfg, resolve=True)
    for key in ("optimizer", "scheduler"):
        saved, current = ((node.get(key) or {}).get("_target_", "none") for node in (saved_config, config))
        if saved != current:
            raise _refusal(cfg, f"{key}: was {saved}, and is {current}")
    saved_groups, groups = (node.get("param_groups") or {} for node in (saved_config, config))
    if saved_groups != groups:
        raise _refusal(cfg, f"param_groups: was {saved_groups}, and is {groups}")
    trained, limit = content["epoch"] + 1, cfg.trainer.get("max_epochs")
    if limit is not None and 0 <= limit < trained:
        raise UserError(
            f"trainer.max_epochs={limit}: the checkpoint {cfg.ckpt_path} is already in epoch {trained}; set "
            f"trainer.max_epochs to {trained} or more"
        )
    planned = (saved_config.get("trainer") or {}).get("max_epochs")
    if planned != limit and str((config.get("scheduler") or {}).get("_target_")).endswith(PLANNED):
        raise _refusal(cfg, f"trainer.max_epochs: the scheduler was planned for {planned} epochs, and is for {limit}")
    if optimizer is not None:
        require_same_groups(cfg, content["optimizer_states"], optimizer)


def require_same_groups(cfg: DictConfig, states: list[Any], optimizer: torch.optim.Optimizer) -> None:
    """Check that saved optimizer states match an optimizer.

    Raises:
        UserError: if the options, or the numbers of groups or parameters, differ.
    """
    if len(states) != 1:
        raise _refusal(cfg, f"optimizer: has the states of {len(states)} optimizers, but 1 is required")
    saved, current = states[0]["param_groups"], optimizer.param_groups
    if missing := [name for name in optimizer.defaults if any(name not in group for group in saved)]:
        raise _refusal(cfg, f"optimizer: its state lacks {', '.join(missing)} of {type(optimizer).__name__}")
    sizes = [[len(group["params"]) for group in groups] for groups in (saved, current)]
    if sizes[0] != sizes[1]:
        raise _refusal(cfg, f"optimizer: had groups of {sizes[0]} parameters, and has groups of {sizes[1]}")


def _refusal(cfg: DictConfig, difference: str) -> UserError:
    return UserError(
        f"ckpt_path={cfg.ckpt_path}: training cannot resume from it. {difference}. Restore the earlier value, or "
        "remove ckpt_path to train from scratch"
    )

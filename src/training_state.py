"""Check whether training can resume from a checkpoint: first without the data, then with the data and the model."""

import re
from pathlib import Path
from typing import Any

import torch
from omegaconf import DictConfig, OmegaConf

from src import build
from src.build.objects import class_at
from src.callback_state import require_callbacks
from src.checkpoint import Card, read_checkpoint
from src.config.keys import changed_options, with_present_names
from src.data.datamodule import TextDataModule
from src.dry_build import dry_optimizer
from src.dry_build.optimizer import example_state
from src.errors import UserError
from src.files.plain import require
from src.files.tensors import require_dense
from src.lit import RUNNING
from src.models.classifier import Classifier
from src.optim.schedulers import advances_every_step
from src.optimizer_state import require_options, require_parameter_state

COUNTS = {"ready": int, "completed": int, "started?": int, "processed?": int}
PROGRESS = {"total": COUNTS, "current": COUNTS}
FIT_LOOP = {  # keys of the state of Lightning's training loop
    "epoch_progress": PROGRESS,
    "epoch_loop.batch_progress": {**PROGRESS, "is_last_batch": bool},
    "epoch_loop.scheduler_progress": PROGRESS,
    "epoch_loop.automatic_optimization.optim_progress": {"optimizer": {"step": PROGRESS, "zero_grad": PROGRESS}},
    "epoch_loop.manual_optimization.optim_step_progress?": PROGRESS,
    "epoch_loop.val_loop.batch_progress?": {**PROGRESS, "is_last_batch": bool},
    "epoch_loop.state_dict": {"_batches_that_stepped?": int},
    "state_dict": {"combined_loader?": [{"epoch": int, "position": int, "batches": int, "seed": (int, None)}]},
}
VERSION = re.compile(r"([0-9]{1,4})(\.[0-9]+){1,3}(\.?(a|b|rc|dev|post)[0-9]+)*(\+[a-z0-9.]+)?")
OLDEST_LIGHTNING = 2  # major version; Lightning would convert older checkpoints
TRAINING = {  # values from which training resumes, besides the weights and the card
    "epoch": int,
    "global_step": int,
    "pytorch-lightning_version": str,
    "loops": {"fit_loop": FIT_LOOP},
    "callbacks": {str: dict},
    "optimizer_states": [{"state": dict, "param_groups": [{"params": [int]}]}],
    "lr_schedulers": [dict],
    "running?": {name: {str: torch.Tensor} for name in RUNNING},
    "rng": {"cpu": torch.Tensor, "cuda": [torch.Tensor]},
}


def read_training_state(path: str | Path) -> dict[str, Any]:
    """Read the whole content of a checkpoint, and validate the state of its training; the file is mapped into memory.

    Raises:
        UserError: if the file is not a valid checkpoint, or the state is missing or invalid.
    """
    content = read_checkpoint(path, mmap=True)
    last = Path(path).with_name("last.ckpt")
    if "optimizer_states" not in content and Path(path) != last:
        raise UserError(f"{path}: contains the model, but not the state of its training: resume from {last}")
    try:
        require(content, TRAINING)
        require_callbacks(content["callbacks"])
        version = content["pytorch-lightning_version"]
        match = VERSION.fullmatch(version)
        if match is None or int(match[1]) < OLDEST_LIGHTNING:
            raise ValueError(f"pytorch-lightning_version: expects {OLDEST_LIGHTNING} or newer, got {version[:60]!r}")
        for key in ("epoch", "global_step"):
            _require_counts(content[key], key)
        _require_counts(content["loops"]["fit_loop"], "loops.fit_loop")
        _require_generator_state(content["rng"]["cpu"], "rng.cpu")
    except ValueError as error:
        raise _unusable(path, error) from error
    return content


def _require_generator_state(state: torch.Tensor, path: str) -> None:
    """Check that torch's random number generator accepts a state.

    Raises:
        ValueError: if it does not.
    """
    require_dense(state, path)
    try:
        torch.Generator().set_state(state)
    except (RuntimeError, TypeError) as error:
        raise ValueError(f"{path}: is not a state of torch's random number generator") from error


def require_resumable(cfg: DictConfig) -> int | None:
    """Check that training can resume from the checkpoint `cfg.ckpt_path` with the options of the run.

    If the run does not train, check that the checkpoint can be evaluated.

    Returns:
        The number of optimizer steps before the checkpoint was written; None if no training resumes.

    Raises:
        UserError: if the checkpoint is invalid or is in a later epoch than `trainer.max_epochs`; if the optimizer, its
            parameter groups, the scheduler or one of their options differs from that in the checkpoint; or if
            `trainer.max_epochs` differs and the scheduler depends on it.
    """
    if cfg.ckpt_path is None:
        return None
    if not cfg.train:
        _require_evaluable(cfg.ckpt_path)
        return None
    content = read_training_state(cfg.ckpt_path)
    saved_config = with_present_names(content["heed"]["config"])
    config: Any = OmegaConf.to_container(cfg, resolve=True)
    for key in ("optimizer", "scheduler"):
        saved, current = ((node.get(key) or {}).get("_target_", "none") for node in (saved_config, config))
        if saved != current:
            raise _refusal(cfg, f"{key}: was {saved}, but is now {current}")
        if changes := changed_options({key: saved_config.get(key)}, {key: config.get(key)}):
            raise _refusal(cfg, "; ".join(changes))  # torch would restore the earlier values with the state
    saved_groups, groups = (node.get("param_groups") or {} for node in (saved_config, config))
    if saved_groups != groups:
        raise _refusal(cfg, f"param_groups: was {saved_groups}, but is now {groups}")
    trained, limit = content["epoch"] + 1, cfg.trainer.get("max_epochs")
    if limit is not None and 0 <= limit < trained:
        raise UserError(
            f"trainer.max_epochs={limit}: the checkpoint {cfg.ckpt_path} is already in epoch {trained}; set "
            f"trainer.max_epochs to {trained} or more"
        )
    planned = (saved_config.get("trainer") or {}).get("max_epochs")
    if planned != limit and advances_every_step(class_at(cfg, "scheduler")):
        raise _refusal(cfg, f"trainer.max_epochs: the scheduler was planned for {planned} epochs, not {limit}")
    if (optimizer := dry_optimizer(cfg)) is not None:
        _require_same_groups(cfg, content["optimizer_states"], optimizer)
    return int(content["global_step"])


def require_same_data(cfg: DictConfig, card: Card, data: TextDataModule) -> None:
    """Check that the texts, the splits and the vocabulary have not changed since `cfg.ckpt_path` was written.

    Raises:
        UserError: if one of them has changed.
    """
    if card.fingerprint and card.fingerprint != data.data_fingerprint:
        source = "the texts" if cfg.data.get("path") is None else f"the texts of data.path={cfg.data.path}"
        raise _refusal(
            cfg,
            f"data: {source} or their splits have changed since this checkpoint was written "
            f"(the fingerprint was {card.fingerprint}, but is now {data.data_fingerprint})",
            "the earlier files",
        )
    if card.codec.tokenizer.vocabulary != data.vocabulary:
        change = "data.tokenizer: its vocabulary has changed since this checkpoint was written"
        raise _refusal(cfg, change, "the earlier file or version of the tokenizer")


def _require_evaluable(path: str) -> None:
    """Check that a checkpoint can be evaluated; Lightning then also restores the states of its callbacks.

    Raises:
        UserError: if the file is not a valid checkpoint, or the state of a callback is invalid.
    """
    callbacks = read_checkpoint(path, mmap=True).get("callbacks", {})
    try:
        require(callbacks, {str: dict}, "callbacks")
        require_callbacks(callbacks)
    except ValueError as error:
        raise UserError(f"{path}: cannot be evaluated ({error}); use another checkpoint, or train again") from error


def _require_counts(value: Any, path: str) -> None:
    """Check that all whole numbers in nested mappings and lists are at least 0.

    Raises:
        ValueError: if a number is negative; the message names the first such number.
    """
    children = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, child in children:
        _require_counts(child, f"{path}.{key}")
    if isinstance(value, int) and value < 0:
        raise ValueError(f"{path} must be at least 0, got {value}")


def require_same_parameters(cfg: DictConfig, model: Classifier) -> None:
    """Check that the optimizer's state in the checkpoint `cfg.ckpt_path` fits the parameters of the model.

    Raises:
        UserError: if the parameter groups differ, or a value is missing or has the wrong type or shape.
    """
    optimizer, states = build.optimizer(cfg, model), read_training_state(cfg.ckpt_path)["optimizer_states"]
    _require_same_groups(cfg, states, optimizer)
    state = states[0]["state"]
    try:
        for saved, group in zip(states[0]["param_groups"], optimizer.param_groups, strict=True):
            example = example_state(cfg, group)
            for key, parameter in zip(saved["params"], group["params"], strict=True):
                if key in state:
                    require_parameter_state(state[key], parameter, example, f"optimizer_states[0].state[{key}]")
    except ValueError as error:
        raise _unusable(cfg.ckpt_path, error) from error


def _require_same_groups(cfg: DictConfig, states: list[Any], optimizer: torch.optim.Optimizer) -> None:
    """Check that the saved parameter groups fit the optimizer of the run.

    Raises:
        UserError: if there is not exactly one optimizer state, an option is missing or has the wrong type, or the
            number of groups, or of parameters in a group, differs.
    """
    if len(states) != 1:
        raise _refusal(cfg, f"optimizer: has the states of {len(states)} optimizers, but 1 is required")
    saved, current = states[0]["param_groups"], optimizer.param_groups
    if missing := [name for name in optimizer.defaults if any(name not in group for group in saved)]:
        raise _refusal(
            cfg, f"optimizer: its state lacks these options of {type(optimizer).__name__}: {', '.join(missing)}"
        )
    sizes = [[len(group["params"]) for group in groups] for groups in (saved, current)]
    if sizes[0] != sizes[1]:
        raise _refusal(cfg, f"optimizer: had groups of {sizes[0]} parameters, but now has groups of {sizes[1]}")
    try:
        for i, (saved_group, group) in enumerate(zip(saved, current, strict=True)):
            require_options(saved_group, group, f"optimizer_states[0].param_groups[{i}]")
    except ValueError as error:
        raise _unusable(cfg.ckpt_path, error) from error


def _unusable(path: str | Path, error: ValueError) -> UserError:
    return UserError(f"{path}: training cannot resume from it ({error}); use another checkpoint, or train from scratch")


def _refusal(cfg: DictConfig, difference: str, earlier: str = "the earlier value") -> UserError:
    return UserError(
        f"ckpt_path={cfg.ckpt_path}: training cannot resume from it. {difference}. Restore {earlier}, or remove "
        "ckpt_path to train from scratch"
    )

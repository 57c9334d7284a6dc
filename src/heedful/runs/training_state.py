"""The state from which a training resumes, `last.ckpt`, and what must not change before it resumes."""

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import torch
from omegaconf import DictConfig
from pytorch_lightning import Callback, Trainer
from pytorch_lightning.callbacks import EarlyStopping, ModelCheckpoint

from heedful.base.errors import UserError
from heedful.config.keys import MAY_CHANGE_ON_RESUME, changed_options
from heedful.config.places import PLACES
from heedful.config.schema import class_at
from heedful.runs.checkpoint import Card, read_checkpoint
from heedful.runs.folder import LAST

PARTS = ("epoch", "global_step", "loops", "callbacks", "optimizer_states", "lr_schedulers", "processes", "should_stop")


class TrainingState(NamedTuple):
    """A checkpoint from which a training resumes."""

    path: str
    card: Card
    epoch: int
    step: int  # number of optimizer steps


def read_training_state(path: str) -> TrainingState:
    """Read and validate the checkpoint from which a training resumes; Lightning then reads all of it."""
    card, content = read_checkpoint(path)
    if missing := [part for part in PARTS if part not in content]:
        last = Path(path).with_name(LAST)
        remedy = f"resume from {last}" if last.exists() and last.name != Path(path).name else "start a new run"
        raise UserError(f"{path}: contains the model, but not the state of its training ({missing[0]}): {remedy}")
    return TrainingState(path, card, content["epoch"], content["global_step"])


def require_same_training(cfg: DictConfig, card: Card, state: TrainingState) -> None:
    """Check that a run, with this configuration and card, has the options and the data of the state."""
    saved, current = state.card.config, json.loads(card.model_dump_json())["config"]
    trained = state.epoch + 1
    limit, planned = (config["trainer"].get("max_epochs") for config in (current, saved))
    path = cfg.data.get("path")
    source = "the texts" if path is None else f"the texts of data.path={path}"
    if changes := changed_options(saved, current, (*MAY_CHANGE_ON_RESUME, "choices")):
        mistake = f"{'; '.join(changes)}. Restore the earlier value"
    elif limit is not None and 0 <= limit < trained:
        mistake = f"It is already in epoch {trained}: set trainer.max_epochs to {trained} or more"
    elif planned != limit and PLACES["scheduler"].passed_to(class_at(cfg, "scheduler") or object):
        mistake = f"trainer.max_epochs: the scheduler was planned for {planned} epochs, not {limit}. Restore it"
    elif state.card.fingerprint != card.fingerprint:
        mistake = f"{source} or their splits have changed since this checkpoint was written. Restore the files"
    elif state.card.codec.tokenizer.vocabulary != card.codec.tokenizer.vocabulary:
        mistake = "data.tokenizer: its vocabulary has changed since this checkpoint was written. Restore it"
    else:
        return
    raise UserError(f"ckpt_path={state.path}: training cannot resume from it. {mistake}, or start a new run")


def training_state(trainer: Trainer, means: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a checkpoint of Lightning lacks: random states, and, within an epoch, the states of its metrics.

    Each process calls this.

    Args:
        means: the metrics of the training texts by name.
    """
    device, running = trainer.strategy.root_device, dict[str, Any]()
    if not trainer.fit_loop.epoch_loop.batch_progress.is_last_batch:
        for name, metric in means.items():
            running[name] = {key: value.cpu() for key, value in metric.metric_state.items()}
    state: dict[str, Any] = {"cpu": torch.get_rng_state(), "running": running}
    if device.type == "cuda":
        state["cuda"] = torch.cuda.get_rng_state(device)
    processes = [state] * trainer.world_size
    if trainer.world_size > 1:
        torch.distributed.all_gather_object(processes, state)
    return {"should_stop": trainer.should_stop, "processes": processes}


def restore_training_state(checkpoint: Mapping[str, Any], trainer: Trainer, means: Mapping[str, Any]) -> None:
    """Restore the random state of this process, and the metrics of the texts that it has trained on.

    If the number of processes has changed, which is allowed between two epochs, no metrics are stored, and further
    processes repeat the random states.
    """
    prepare_resume(checkpoint, trainer)
    state = checkpoint["processes"][trainer.global_rank % len(checkpoint["processes"])]
    torch.set_rng_state(state["cpu"].cpu())
    if (device := trainer.strategy.root_device).type == "cuda" and "cuda" in state:
        torch.cuda.set_rng_state(state["cuda"].cpu(), device)
    for name in state["running"].keys() & means.keys():  # versions before 0.2 stored other states
        for key, value in means[name].metric_state.items():
            value.copy_(state["running"][name][key])


def prepare_resume(checkpoint: Mapping[str, Any], trainer: Trainer) -> None:
    """Change the states of callbacks and loops as Lightning should load them, and stop what had stopped early.

    A training that had stopped early goes on if the patience is longer now, or the callback that stopped it is absent.
    """
    states = checkpoint["callbacks"]
    callbacks = {callback.state_key: callback for callback in trainer.callbacks}  # type: ignore[attr-defined]
    rebuild_paths(states, list(callbacks.values()))
    trainer.should_stop = checkpoint["should_stop"]
    for key, state in states.items():
        callback, is_longer = callbacks.get(key), False
        if isinstance(callback, EarlyStopping):
            is_longer = callback.patience > max(state["patience"], state["wait_count"])
            state["patience"] = callback.patience  # Lightning would restore the earlier value
        if (callback is None or is_longer) and isinstance(state, dict) and state.get("stopping_reason_message"):
            trainer.should_stop, state["stopping_reason_message"] = False, None
    if trainer.should_stop:  # Lightning counts the last epoch only after it has saved the checkpoint
        epochs = checkpoint["loops"]["fit_loop"]["epoch_progress"]["current"]
        epochs["completed"] = epochs["processed"]
    # With max_steps, Lightning would take an epoch that has ended for one that has not
    trainer.fit_loop._iteration_based_training = lambda: False  # type: ignore[method-assign]


def rebuild_paths(states: Mapping[str, dict[str, Any]], callbacks: Sequence[Callback]) -> None:
    """Move the paths in the states of ModelCheckpoints to the folders of these callbacks, in place.

    Lightning deletes earlier checkpoints by these paths. A path that does not lead to a checkpoint below the folder in
    which it was saved is dropped; so a run can be moved, and no other file can be deleted.
    """
    for callback in callbacks:
        state = states.get(callback.state_key)
        if not isinstance(callback, ModelCheckpoint) or state is None:
            continue
        earlier, folder = state["dirpath"], str(callback.dirpath)

        def move(path: str, earlier: str = earlier, folder: str = folder) -> str:
            parts = Path(os.path.relpath(path, earlier)) if path else Path()
            return str(Path(folder, parts)) if parts.suffix == ".ckpt" and ".." not in parts.parts else ""

        state["dirpath"] = folder
        for name in ("best_model_path", "kth_best_model_path", "last_model_path"):
            state[name] = move(state[name])
        state["best_k_models"] = {path: score for old, score in state["best_k_models"].items() if (path := move(old))}

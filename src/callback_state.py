"""Check the states of callbacks in a checkpoint, which may be hostile."""

from pathlib import Path
from typing import Any

import torch

from src.callbacks.speed import EPOCH
from src.files.plain import require
from src.files.tensors import require_number

CHECKPOINT = {
    "best_model_path": str,
    "best_model_score": (torch.Tensor, None),
    "best_k_models": {str: torch.Tensor},
    "dirpath": str,
    "kth_best_model_path": str,
    "kth_value": torch.Tensor,
    "last_model_path": str,
}
EARLY_STOPPING = {
    "wait_count": int,
    "stopped_epoch": int,
    "best_score": torch.Tensor,
    "patience": int,
    "stopping_reason?": int,
}
CALLBACKS = {
    "BestCheckpoint": CHECKPOINT,
    "EarlyStopping": EARLY_STOPPING,
    "GradientNorms": {"steps": [int], "parts": [str], "norms": [float]},
    "ModelCheckpoint": CHECKPOINT,
    "Speed": {"epochs": [EPOCH], "unfinished": EPOCH},
}
SCORES = ("best_model_score", "kth_value", "best_score")  # callbacks compare each epoch's score with these values


def require_callbacks(states: dict[str, dict[str, Any]]) -> None:
    """Check the states of callbacks; in the state of a callback that is not in `CALLBACKS`, check only the scores.

    Args:
        states: the state of each callback, by Lightning's key. A state with `best_model_path` is
            checked as the state of a ModelCheckpoint, whatever its key.

    Raises:
        ValueError: if a value is missing or has the wrong type, a score is NaN or not a single number, or the path of a
            checkpoint is not a .ckpt file in the folder of the callback.
    """
    for key, state in states.items():
        name = key.partition("{")[0]  # Lightning appends the options of a ModelCheckpoint to its name
        path, is_checkpoint = f"callbacks.{name}", "best_model_path" in state  # a user's subclass has another name
        require(state, CHECKPOINT if is_checkpoint else CALLBACKS.get(name, {}), path)
        for score in SCORES:
            if state.get(score) is not None:
                require_number(state[score], f"{path}.{score}")
        if is_checkpoint:
            _require_paths(state, path)
            for score in state["best_k_models"].values():
                require_number(score, f"{path}.best_k_models")


def _require_paths(state: dict[str, Any], path: str) -> None:
    """Check that the checkpoints of a ModelCheckpoint are in its folder, because Lightning deletes old checkpoints.

    Raises:
        ValueError: if a path is outside the folder, is not absolute and normalized, or does not end in .ckpt.
    """
    folder = Path(state["dirpath"])
    names = ("best_model_path", "kth_best_model_path", "last_model_path")
    for file in filter(None, [*map(state.get, names), *state["best_k_models"]]):
        parts = Path(file)
        is_normalized = parts.is_absolute() and ".." not in parts.parts and str(parts) == file
        if not is_normalized or parts.suffix != ".ckpt" or folder not in parts.parents:
            raise ValueError(f"{path}: {file!r} is not a checkpoint in the callback's folder {state['dirpath']!r}")

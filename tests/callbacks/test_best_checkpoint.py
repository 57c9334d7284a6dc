"""A resumed run takes the best checkpoint so far along into its own folder."""

from pathlib import Path
from typing import Any

import torch

from src.callbacks.best_checkpoint import BestCheckpoint


def state(best: Path) -> dict[str, Any]:
    """As Lightning saves it."""
    score = torch.tensor(0.75)
    return {
        "monitor": "val/acc",
        "best_model_score": score,
        "best_model_path": str(best),
        "current_score": torch.tensor(0.5),
        "dirpath": str(best.parent),
        "best_k_models": {str(best): score},
        "kth_best_model_path": str(best),
        "kth_value": score,
        "last_model_path": "",
    }


def callback(folder: Path) -> BestCheckpoint:
    return BestCheckpoint(folder, filename="best", monitor="val/acc", mode="max")


def test_the_best_checkpoint_comes_along(tmp_path: Path) -> None:
    old, new = tmp_path / "old", tmp_path / "new"
    old.mkdir()
    (old / "best.ckpt").write_bytes(b"weights")
    resumed = callback(new)
    resumed.load_state_dict(state(old / "best.ckpt"))
    assert (new / "best.ckpt").read_bytes() == b"weights"
    assert resumed.best_model_path == str(new / "best.ckpt")
    assert resumed.best_model_score == 0.75
    assert list(resumed.best_k_models) == [str(new / "best.ckpt")]


def test_in_the_same_folder_it_stays(tmp_path: Path) -> None:
    (tmp_path / "best.ckpt").write_bytes(b"weights")
    resumed = callback(tmp_path)
    resumed.load_state_dict(state(tmp_path / "best.ckpt"))
    assert resumed.best_model_path == str(tmp_path / "best.ckpt")
    assert resumed.best_model_score == 0.75

"""A resumed run copies the best checkpoint of the previous run into its folder."""

import shutil
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from src.callbacks.best_checkpoint import BestCheckpoint
from src.errors import UserError


def state(best: Path) -> dict[str, Any]:
    """The state in the format of Lightning."""
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


def callback(folder: Path, resumed_from: Path) -> BestCheckpoint:
    callback = BestCheckpoint(folder, filename="best", monitor="val/acc", mode="max")
    trainer: Any = SimpleNamespace(ckpt_path=str(resumed_from / "last.ckpt"))
    callback.on_load_checkpoint(trainer, None, {})
    return callback


@pytest.fixture
def previous(checkpoint: Path, tmp_path: Path) -> Path:
    """The folder of the previous run, with a best checkpoint."""
    (tmp_path / "previous").mkdir()
    shutil.copyfile(checkpoint.with_name("best.ckpt"), tmp_path / "previous" / "best.ckpt")
    return tmp_path / "previous"


def test_the_best_checkpoint_is_copied(previous: Path, tmp_path: Path) -> None:
    new = tmp_path / "new"
    resumed = callback(new, previous)
    resumed.load_state_dict(state(previous / "best.ckpt"))
    assert (new / "best.ckpt").read_bytes() == (previous / "best.ckpt").read_bytes()
    assert resumed.best_model_path == str(new / "best.ckpt")
    assert resumed.best_model_score == 0.75
    assert list(resumed.best_k_models) == [str(new / "best.ckpt")]


def test_in_the_same_folder_the_checkpoint_is_not_copied(previous: Path) -> None:
    resumed = callback(previous, previous)
    resumed.load_state_dict(state(previous / "best.ckpt"))
    assert resumed.best_model_path == str(previous / "best.ckpt")
    assert resumed.best_model_score == 0.75


def test_in_a_renamed_folder_the_checkpoint_is_not_copied(previous: Path, tmp_path: Path) -> None:
    new = previous.rename(tmp_path / "renamed")
    resumed = callback(new, new)
    resumed.load_state_dict(state(previous / "best.ckpt"))
    assert resumed.best_model_path == str(new / "best.ckpt")
    assert resumed.best_model_score == 0.75


def test_a_file_of_another_folder_is_not_copied(previous: Path, tmp_path: Path) -> None:
    key, new = tmp_path / "private_key.ckpt", tmp_path / "new"
    key.write_text("secret")
    with pytest.warns(UserWarning, match="dirpath has changed"):
        callback(new, previous).load_state_dict(state(key))
    assert not new.exists()


def test_a_file_that_is_no_checkpoint_is_not_copied(previous: Path, tmp_path: Path) -> None:
    (previous / "best.ckpt").write_text("secret")
    with pytest.raises(UserError, match=r"previous/best\.ckpt"):
        callback(tmp_path / "new", previous).load_state_dict(state(previous / "best.ckpt"))
    assert not (tmp_path / "new").exists()

"""A callback that saves the best checkpoint of all epochs, including epochs before the run was resumed."""

import shutil
from pathlib import Path
from typing import Any

import pytorch_lightning as pl
from pytorch_lightning.callbacks import ModelCheckpoint

from src.checkpoint import read_checkpoint


class BestCheckpoint(ModelCheckpoint):
    """A ModelCheckpoint that, if a run resumes in another folder, copies the best checkpoint to that folder.

    In this case, Lightning's own class does not restore the best score. The best checkpoint is copied only from the
    folder of the checkpoint from which the run resumes, because a hostile checkpoint could name any file as the best
    checkpoint.

    Raises:
        UserError: on resume, if the best checkpoint is damaged.
    """

    _resumed_folder = Path()

    def on_load_checkpoint(self, trainer: pl.Trainer, pl_module: Any, checkpoint: dict[str, Any]) -> None:
        self._resumed_folder = Path(str(trainer.ckpt_path)).parent

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        best = self._resumed_folder / Path(state_dict["best_model_path"]).name
        if state_dict["dirpath"] != self.dirpath and best.is_file():
            read_checkpoint(best, mmap=True)
            copy = Path(str(self.dirpath)) / best.name
            if best.resolve() != copy.resolve():
                copy.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(best, copy)
            state_dict = {
                **state_dict,
                "dirpath": self.dirpath,
                "best_model_path": str(copy),
                "kth_best_model_path": str(copy),
                "best_k_models": {str(copy): state_dict["best_model_score"]},
            }
        super().load_state_dict(state_dict)

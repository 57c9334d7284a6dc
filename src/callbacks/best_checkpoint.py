"""The best checkpoint of a training, wherever that training was begun."""

import shutil
from pathlib import Path
from typing import Any

from pytorch_lightning.callbacks import ModelCheckpoint


class BestCheckpoint(ModelCheckpoint):
    """Lightning's ModelCheckpoint, which forgets the best score so far when a run resumes in a folder of its own.

    This one takes the best checkpoint along.
    """

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        before = Path(state_dict["best_model_path"])
        if before.is_file() and before.parent != Path(str(self.dirpath)):
            here = Path(str(self.dirpath)) / before.name
            here.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(before, here)
            state_dict = {
                **state_dict,
                "dirpath": self.dirpath,
                "best_model_path": str(here),
                "kth_best_model_path": str(here),
                "best_k_models": {str(here): state_dict["best_model_score"]},
            }
        super().load_state_dict(state_dict)

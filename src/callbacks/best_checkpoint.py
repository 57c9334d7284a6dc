"""A callback that saves the best checkpoint of a run, including the epochs before the run was resumed."""

import shutil
from pathlib import Path
from typing import Any

from pytorch_lightning.callbacks import ModelCheckpoint


class BestCheckpoint(ModelCheckpoint):
    """A ModelCheckpoint that copies the best checkpoint to the new folder if a run resumes in another folder.

    In this case, Lightning's own class does not restore the best score.
    """

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        previous, folder = Path(state_dict["best_model_path"]), Path(str(self.dirpath))
        if previous.is_file() and previous.parent != folder:
            copy = folder / previous.name
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(previous, copy)
            state_dict = {
                **state_dict,
                "dirpath": self.dirpath,
                "best_model_path": str(copy),
                "kth_best_model_path": str(copy),
                "best_k_models": {str(copy): state_dict["best_model_score"]},
            }
        super().load_state_dict(state_dict)

"""TensorBoard: `logger=tensorboard`, then `tensorboard --logdir outputs`."""

from collections.abc import Mapping
from typing import Any

from matplotlib.image import imread
from pytorch_lightning.loggers import TensorBoardLogger

from src.extras import require
from src.loggers.tracker import Report, Tracker

require("tensorboard", by="logger=tensorboard", extra="tensorboard")


class TensorBoard(Tracker, TensorBoardLogger):
    """Lightning's TensorBoard logger, which also logs pictures and, as a hyperparameter, the run's status."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self._numbers: dict[str, float] = {}
        self._step = 0

    def describe(self, facts: Mapping[str, Any]) -> None:
        self.log_hyperparams(dict(facts))

    def show(self, report: Report) -> None:
        self._numbers, self._step = report.numbers(), report.step
        for name, path in report.pictures.items():
            self.experiment.add_image(f"pictures/{name}", imread(path), report.step, dataformats="HWC")

    def close(self, status: str, numbers: Mapping[str, float]) -> None:
        # TensorBoard stores hyperparameters only together with metrics, so they are written here
        self.log_hyperparams({**self.hparams, "status": status}, {**self._numbers, **numbers}, self._step)
        self.finalize("success")

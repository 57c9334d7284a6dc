"""The logger for TensorBoard: `logger=tensorboard` selects it, and `tensorboard --logdir outputs` shows the runs."""

from typing import Any

from matplotlib.image import imread
from pytorch_lightning.loggers import TensorBoardLogger

from src.extras import require_extra
from src.loggers.tracker import Report, Tracker, description, final_numbers
from src.run_result import RunResult

require_extra("tensorboard", by="logger=tensorboard", extra="tensorboard")


class TensorBoard(Tracker, TensorBoardLogger):
    """Lightning's TensorBoard logger, which also logs a run's pictures, final numbers and status."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self._numbers: dict[str, float] = {}
        self._step = 0

    def describe(self, result: RunResult) -> None:
        self.log_hyperparams(description(result))

    def show(self, report: Report) -> None:
        self._numbers, self._step = report.numbers(), report.step
        for name, path in report.pictures.items():
            self.experiment.add_image(f"pictures/{name}", imread(path), report.step, dataformats="HWC")

    def close(self, result: RunResult) -> None:
        # TensorBoard stores hyperparameters only together with metrics, so both are written here
        self.log_hyperparams(
            {**self.hparams, "status": result.status}, self._numbers | final_numbers(result), self._step
        )
        self.finalize("success")

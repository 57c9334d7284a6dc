"""The folder of a run: its lock, its files, the removal of an earlier run's files, and the trimming of its logs."""

import csv
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

from hydra.core.hydra_config import HydraConfig
from hydra.types import RunMode
from omegaconf import OmegaConf
from pytorch_lightning.utilities import rank_zero_only

from src.errors import UserError
from src.files import LOCK_TIMEOUT, lock_folder, replace_atomically, write_text
from src.loggers.csv import FILE
from src.run_result import RESULT_FILE, RunResult

CHECKPOINTS = ("checkpoints/best.ckpt", "checkpoints/last.ckpt")
RUN_FILES = (  # files that a new run in the same folder removes; train.log and the runs in wandb/ accumulate
    RESULT_FILE,
    *CHECKPOINTS,
    "predictions/test.npz",
    "predictions/val.npz",
    f"csv/{FILE}",
    "csv/hparams.yaml",
    "gradients.csv",
    "attention.json",
    "attention_stats.npz",
    "errors.csv",
    "lexicon.json",
    "faithfulness.npz",
    "page.html",
    "pictures/curves.png",
    "pictures/gradients.png",
    "pictures/confusion.png",
    "pictures/reliability.png",
    "pictures/attention_*.png",
    "pictures/strip_*_*.png",
    "pictures/heatmap_*_*.png",
    "pictures/heads_*_*.png",
    "tensorboard/events.out.tfevents.*",
    "tensorboard/hparams.yaml",
)


def is_main_process() -> bool:
    """Return whether this process writes files; exactly one process of a distributed run writes files."""
    return getattr(rank_zero_only, "rank", 0) == 0


class RunFolder:
    """The folder of a run, which another process may not use at the same time.

    If the folder contains an earlier run, `write_config` is called as soon as the files of that run may be replaced.

    Attributes:
        path: the folder.
        is_reused: whether the folder contained files of an earlier run when it was locked.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.is_reused = False
        self._is_writable = False

    @contextmanager
    def lock(self, trains: bool) -> Iterator[None]:
        """Create the folder, and lock it during the block.

        Args:
            trains: whether the run trains a model.

        Raises:
            UserError: if another process writes to the folder, or an evaluation would replace a training run.
        """
        self.path.mkdir(parents=True, exist_ok=True)
        is_job = HydraConfig.initialized() and HydraConfig.get().mode == RunMode.MULTIRUN  # the sweep locks its folder
        needs_lock = is_main_process() and not is_job
        with lock_folder(self.path, LOCK_TIMEOUT) if needs_lock else nullcontext(True) as is_locked:
            if not is_locked:
                raise UserError(
                    f"another process is writing to {self.path}: wait until it ends, or choose another hydra.run.dir"
                )
            if is_main_process() and not trains and contains_training(self.path):
                raise UserError(
                    f"{self.path} contains a training run, whose files an evaluation would replace: choose another "
                    "hydra.run.dir"
                )
            self.is_reused = bool(run_files(self.path))
            yield

    def contains(self, path: str) -> bool:
        return Path(path).resolve().is_relative_to(self.path.resolve())

    def remove_run_files(self) -> None:
        """Remove the files of an earlier run."""
        for path in run_files(self.path):
            path.unlink()

    def write_config(self, config: dict[str, Any]) -> None:
        """Write the configuration; from now on, `save_result` replaces the record of an earlier run."""
        self._is_writable = True
        write_text(self.path / "config.yaml", OmegaConf.to_yaml(config))

    def save_result(self, result: RunResult) -> None:
        """Write the record of the run, unless the configuration was not written in this process."""
        if self._is_writable:
            result.save(self.path)


def contains_training(folder: Path) -> bool:
    """Return whether a run trained a model in the folder.

    Raises:
        UserError: if the folder has no checkpoint, and the record in it cannot be read.
    """
    return any((folder / name).exists() for name in CHECKPOINTS) or bool(RunResult.load(folder).seconds.fit)


def run_files(folder: Path) -> list[Path]:
    """Return the files of an earlier run: the files with a default name, except files in linked subfolders."""
    paths = [path for pattern in RUN_FILES for path in folder.glob(pattern) if not path.is_dir()]
    return [path for path in paths if path.parent == folder or not path.parent.is_symlink()]


def trim_logs(folder: Path, steps: int) -> None:
    """Remove those rows of an earlier run's logs that were written after `steps` optimizer steps."""
    for path in (folder / "csv" / FILE, folder / "gradients.csv"):
        trim(path, steps)


def trim(path: Path, steps: int) -> None:
    """Remove from a log all incomplete rows and all rows that were written after `steps` optimizer steps.

    The log is deleted if no row remains or if it has no column "step".
    """
    if not path.exists():
        return
    with path.open(newline="", encoding="utf-8") as file:
        rows = list(csv.reader(file))
    column = rows[0].index("step") if rows and "step" in rows[0] else None
    remaining = []
    if column is not None:
        remaining = [row for row in rows[1:] if len(row) == len(rows[0]) and int(row[column]) < steps]
    if not remaining:
        path.unlink()
        return
    with replace_atomically(path) as part, part.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file, lineterminator="\n").writerows([rows[0], *remaining])

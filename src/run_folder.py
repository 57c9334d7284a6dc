"""The files in the folder of a run: those that a later run removes, and the logs that it trims."""

import csv
from pathlib import Path

from pytorch_lightning.utilities import rank_zero_only

from src.files.atomic import replace_atomically
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
    """Return whether this process writes files; exactly one process of a distributed run does."""
    return getattr(rank_zero_only, "rank", 0) == 0


def contains_training(folder: Path) -> bool:
    """Return whether a run trained a model in the folder.

    Raises:
        UserError: if the folder has no checkpoint, and the record in it cannot be read.
    """
    return any((folder / name).exists() for name in CHECKPOINTS) or bool(RunResult.load(folder).seconds.fit)


def run_files(folder: Path) -> list[Path]:
    """Return the files of an earlier run in its folder: those with a default name, and not in a linked folder."""
    paths = [path for pattern in RUN_FILES for path in folder.glob(pattern) if not path.is_dir()]
    return [path for path in paths if path.parent == folder or not path.parent.is_symlink()]


def trim_logs(folder: Path, steps: int) -> None:
    """Remove those rows of an earlier run's logs that were written after `steps` optimizer steps."""
    for path in (folder / "csv" / FILE, folder / "gradients.csv"):
        trim(path, steps)


def trim(path: Path, steps: int) -> None:
    """Remove incomplete rows and rows written after `steps` optimizer steps.

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

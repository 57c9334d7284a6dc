"""The folder of a run, which holds one run; this module is imported before torch."""

import csv
import os
import shutil
from contextlib import suppress
from pathlib import Path

from heedful.base.errors import UserError
from heedful.base.files import csv_line, lock_folder, write_text
from heedful.base.formatting import format_names
from heedful.runs.result import RESULT_FILE

BEST, LAST = "best.ckpt", "last.ckpt"
LOGS = ("csv/metrics.csv", "gradients.csv")  # files to which a resumed run appends


def run_folder_of(checkpoint: str) -> Path:
    """Return `<run>` for the path `<run>/checkpoints/last.ckpt`."""
    return Path(os.path.abspath(checkpoint)).parents[1]


def checkpoint_in(path: str | Path, *names: str) -> Path:
    """Return the first of the checkpoints `names` in the folder of a run; the path of a file is returned unchanged."""
    if not Path(path).is_dir():
        return Path(path)
    folder = Path(path, "checkpoints")
    if existing := [folder / name for name in names if (folder / name).is_file()]:
        return existing[0]
    others = sorted(file.name for file in folder.glob("*.ckpt"))
    remedy = f"name one of its files: {format_names(others)}" if others else "name the folder of a run, or a checkpoint"
    raise UserError(f"{path}: has no checkpoints/{' or '.join(names)}: {remedy}")


def require_new(folder: Path) -> None:
    """Check that a folder contains no run."""
    if any((folder / name).exists() for name in (RESULT_FILE, "config.yaml", "checkpoints")):
        is_resumable = (folder / "checkpoints" / LAST).exists()
        resume = f", or resume the run with ckpt_path={folder}" if is_resumable else ""
        raise UserError(f"{folder} already contains a run: choose another hydra.run.dir, or delete the folder{resume}")


def require_kept(folder: Path) -> None:
    """Check that the folder of a run that is going on was not deleted or replaced."""
    if not (folder / "config.yaml").exists():
        raise UserError(
            f"{folder} was deleted or moved while the run was writing to it, so its record is not complete: run the "
            "command again"
        )


def remove_if_unused(folder: Path, command: str) -> None:
    """Remove the folder of a run that produced nothing, and the folders above it that are then empty."""
    unused = {".hydra", f"{command}.log", "config.yaml", RESULT_FILE}  # written at the start and at the end
    if {path.name for path in folder.iterdir()} <= unused and folder != Path.cwd():
        with lock_folder(folder) as is_locked:
            if not is_locked:  # another process began its run there
                return
            shutil.rmtree(folder)
        with suppress(ValueError, OSError):  # the folder above is elsewhere, not empty, or the current folder
            os.removedirs(folder.parent.relative_to(Path.cwd()))


def trim_logs(folder: Path, steps: int) -> None:
    """Remove from the logs all incomplete rows and all rows that were written after `steps` optimizer steps.

    A log is deleted if no row remains.
    """
    for path in filter(Path.exists, (folder / name for name in LOGS)):
        with path.open(newline="", encoding="utf-8") as file:
            header, *rows = list(csv.reader(file)) or [[]]
        remaining = [row for row in rows if len(row) == len(header) and int(row[header.index("step")]) < steps]
        if remaining:
            write_text(path, "".join(map(csv_line, [header, *remaining])))
        else:
            path.unlink()

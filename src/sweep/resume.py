"""Going on with a sweep, and with a job of it where its last process stopped."""

import csv
import logging
import os
from collections.abc import Sequence
from pathlib import Path

from hydra.core.override_parser.overrides_parser import OverridesParser
from omegaconf import DictConfig

from src.config.quoting import literal
from src.errors import UserError
from src.sweep.jobs import Sweep

log = logging.getLogger(__name__)


def requests_resume(given: Sequence[str]) -> bool:
    """Whether one of the overrides is `sweep.resume=<folder>`."""
    return any(line.lstrip("+").startswith("sweep.resume=") for line in given)


def read_command_line(given: Sequence[str]) -> list[str]:
    """The arguments that started the sweep which `sweep.resume=<folder>` names.

    Args:
        given: overrides that resume; beside that one, only Hydra's own may be others than before, such as the launcher.

    Raises:
        UserError: if the folder holds no sweep, or there are other overrides.
    """
    keys = {line.lstrip("+").partition("=")[0]: line for line in given}
    folder = Path(str(OverridesParser.create().parse_override(keys["sweep.resume"]).value())).expanduser().absolute()
    if other := [line for key, line in keys.items() if not key.startswith(("hydra.", "hydra/", "sweep."))]:
        raise UserError(f"sweep.resume goes on with a sweep as it was started: leave out {' '.join(other)}")
    replaced = {key for key in keys if key != "sweep.resume"} | {"hydra.sweep.dir"}
    dropped = "hydra.launcher." if "hydra/launcher" in keys else "sweep."  # another launcher has other options
    before = [
        line
        for line in Sweep.read(folder).arguments
        if line.partition("=")[0] not in replaced and not line.startswith(("sweep.", dropped))
    ]
    flag = [] if {"-m", "--multirun"} & set(before) else ["-m"]
    here = [f"{key}={literal(str(folder))}" for key in ("hydra.sweep.dir", "sweep.resume")]
    return [*before, *(line for key, line in keys.items() if key != "sweep.resume"), *here, *flag]


def prepare(cfg: DictConfig, folder: Path) -> None:
    """Let a training go on from the folder's last checkpoint, if there is one that can be read.

    What was logged behind it is left out, for it is about to be logged again.

    Args:
        cfg: the job's configuration; `ckpt_path` is set.
        folder: of the job.
    """
    from src.loggers.csv import BEFORE, FILE

    done = _checkpointed(folder / "checkpoints" / "last.ckpt") if cfg.get("train") else 0
    if done:
        cfg.ckpt_path = str(folder / "checkpoints" / "last.ckpt")
        log.info("Going on at step %d", done)
    metrics = folder / "csv" / FILE
    if metrics.exists():
        os.replace(metrics, metrics.with_name(BEFORE))
    for path in (metrics.with_name(BEFORE), folder / "gradients.csv"):
        trim(path, done)


def _checkpointed(last: Path) -> int:
    """The number of steps that a checkpoint holds; 0 if it is missing or damaged."""
    if not last.exists():
        return 0
    from src.checkpoint import read

    try:
        return int(read(last, training=True, mmap=True)["global_step"])
    except UserError as error:
        log.warning("%s; the job starts anew", error)
        return 0


def trim(path: Path, steps: int) -> None:
    """Leave out the rows of a log that were written after `steps` steps, and the file if none is left."""
    if not path.exists():
        return
    with path.open(newline="", encoding="utf-8") as file:
        rows = list(csv.reader(file))
    at = rows[0].index("step") if rows and "step" in rows[0] else None
    kept = [row for row in rows[1:] if len(row) == len(rows[0]) and int(row[at]) < steps] if at is not None else []
    if not kept:
        path.unlink()
        return
    part = path.with_suffix(".part")
    with part.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file, lineterminator="\n").writerows([rows[0], *kept])
    os.replace(part, path)

"""The folder of a run with its configuration and its record."""

import csv
from pathlib import Path
from typing import Any

from omegaconf import OmegaConf
from pytorch_lightning.utilities import rank_zero_only

from src.files.atomic import replace_atomically
from src.loggers.csv import FILE
from src.run_result import RunResult, has_result


def is_main_process() -> bool:
    """Return whether this process writes files; true for exactly one process of a distributed run."""
    return getattr(rank_zero_only, "rank", 0) == 0


def trim_logs(folder: Path, steps: int) -> None:
    """Remove the rows of an earlier run's logs that were written after `steps` steps."""
    for path in (folder / "csv" / FILE, folder / "gradients.csv"):
        trim(path, steps)


def trim(path: Path, steps: int) -> None:
    """Remove the rows of a log that were written after `steps` steps, and the file if no row remains."""
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


class RunFolder:
    """Writes `config.yaml` and the record of a run.

    In the folder of an earlier run nothing is written before `replace_earlier_run`, so that the earlier files remain
    if the new run fails before this call. Processes other than the main one write nothing.

    Args:
        path: path of the folder.
        config: the resolved configuration.
    """

    def __init__(self, path: Path, config: dict[str, Any]) -> None:
        self.path = path
        self.config = config
        self._writes = False

    def create(self) -> None:
        """Create the folder, and write the configuration unless there is an earlier run."""
        self.path.mkdir(parents=True, exist_ok=True)
        if not has_result(self.path):
            self.replace_earlier_run()

    def replace_earlier_run(self) -> None:
        """Write the configuration over that of an earlier run, and enable `write_result`."""
        self._writes = is_main_process()
        if self._writes:
            (self.path / "config.yaml").write_text(OmegaConf.to_yaml(self.config), encoding="utf-8")

    def write_result(self, result: RunResult) -> None:
        """Write the record; without a previous call of `replace_earlier_run`, do nothing."""
        if self._writes:
            result.save(self.path)

"""What a launcher runs in place of the command's own function: a job in a process of its own."""

import logging
import os
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hydra.core.hydra_config import HydraConfig
from omegaconf import DictConfig, open_dict

from src.sweep import processes
from src.sweep.child import TALK, work
from src.sweep.jobs import Job
from src.sweep.outcome import DONE, claimed, recorded, settle
from src.sweep.stop import asked

log = logging.getLogger(__name__)
PATIENCE = 1.0  # seconds in which whoever only looks at the folder is done


class NotDone(Exception):
    """The job failed, was stopped, or was not begun; its folder says more."""


@dataclass(frozen=True)
class Task:
    """Runs one job. Its process may die in any way: this one lives on and records how it ended.

    A job that is done is not repeated, one that was stopped goes on from its last checkpoint, and one that another
    process is running is left alone. So it does no harm to run a job again, as Slurm and Ray do after a failure.

    Args:
        module: of the command, such as src.train.
        here: the folder that relative paths start from.
        sweep: the sweep's folder.
        jobs: by their folders.
        aside: whether jobs print into their folders.
        callbacks: to add to the configured ones.
    """

    module: str
    here: Path
    sweep: Path
    jobs: Mapping[str, Job]
    aside: bool
    callbacks: Mapping[str, Mapping[str, object]] = field(default_factory=dict)

    def __call__(self, cfg: DictConfig) -> float | None:
        """The selected checkpoint's score.

        Raises:
            NotDone: if there is none.
        """
        os.chdir(self.here)  # a worker may have started elsewhere
        hydra: Any = HydraConfig.instance().cfg
        folder = Path(hydra.hydra.runtime.output_dir)
        job = self.jobs[folder.relative_to(self.sweep).as_posix()]
        if asked(self.sweep):
            raise NotDone("the sweep was stopped")
        with claimed(folder, PATIENCE) as free:
            if not free:
                raise NotDone("another process is running this job")
            if recorded(folder).status not in DONE:
                self._run(job, cfg, hydra, folder)
        end = recorded(folder)
        if end.status not in DONE:
            raise NotDone(end.error)
        return end.score

    def _run(self, job: Job, cfg: DictConfig, hydra: DictConfig, folder: Path) -> None:
        (folder / "result.json").unlink(missing_ok=True)
        if self.callbacks:
            with open_dict(cfg):
                own = {name: {**options, "trial": job.number} for name, options in self.callbacks.items()}
                cfg.callbacks = {**(cfg.callbacks or {}), **own}
        code = processes.run(work, (self.module, cfg, hydra, self.aside), lambda: asked(self.sweep))
        settle(folder, code, _killed(code), job.overrides)
        end = recorded(folder)
        figures = [] if end.accuracy is None else [f"acc {end.accuracy:.3f}"]
        figures += [] if end.seconds is None else [f"{end.seconds:.1f} s"]
        why = [] if end.status in DONE else [end.error or "", f"see {folder / TALK}"][: 1 + self.aside]
        log.info("#%d %s: %s", job.number, shlex.join(job.overrides), ", ".join([end.status, *figures, *why]))


def _killed(code: int) -> str:
    if code == -9:
        return "killed by SIGKILL, as the kernel does when memory runs out"
    return f"killed by signal {-code}" if code < 0 else f"ended with exit code {code}"

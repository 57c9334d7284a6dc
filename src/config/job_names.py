"""What the running job is called, for the loggers in conf/logger/."""

from pathlib import Path

from hydra.core.hydra_config import HydraConfig
from hydra.types import RunMode
from omegaconf import OmegaConf


def job_name(what: str) -> str | None:
    """A name of the job that Hydra runs; None where it runs none.

    Args:
        what: `command` (train or eval), `name` (of the job's own folder) or `sweep` (of the folder of all jobs of a
            sweep; None for a single run).

    Raises:
        ValueError: if it is none of these.
    """
    if what not in ("command", "name", "sweep"):
        raise ValueError(f"${{job:{what}}} must be command, name or sweep")
    if not HydraConfig.initialized():
        return None
    hydra = HydraConfig.get()
    if what == "command":
        return str(hydra.job.name)
    if OmegaConf.is_missing(hydra.runtime, "output_dir"):  # --cfg shows a job that will not run
        return None
    folder = Path(hydra.runtime.output_dir)
    if what == "name":
        return folder.name
    return folder.parent.name if hydra.mode == RunMode.MULTIRUN else None

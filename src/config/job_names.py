"""Names of the running job, for the loggers in conf/logger/."""

from pathlib import Path

from hydra.core.hydra_config import HydraConfig
from hydra.types import RunMode
from omegaconf import OmegaConf


def job_name(kind: str) -> str | None:
    """A name of the job that Hydra runs, or None if there is no job.

    Args:
        kind: `command` (train or eval), `name` (of the job's folder) or `sweep` (of the sweep's folder; None for a
            single run).

    Raises:
        ValueError: if `kind` is not one of these.
    """
    if kind not in ("command", "name", "sweep"):
        raise ValueError(f"${{job:{kind}}} must be command, name or sweep")
    if not HydraConfig.initialized():
        return None
    hydra = HydraConfig.get()
    if kind == "command":
        return str(hydra.job.name)
    if OmegaConf.is_missing(hydra.runtime, "output_dir"):  # --cfg only prints the configuration
        return None
    folder = Path(hydra.runtime.output_dir)
    if kind == "name":
        return folder.name
    return folder.parent.name if hydra.mode == RunMode.MULTIRUN else None

"""The names of jobs and their folders; resolvers of the files in conf/."""

import re
from collections.abc import Iterable
from pathlib import Path

from hydra.core.hydra_config import HydraConfig
from hydra.types import RunMode
from omegaconf import OmegaConf

LONGEST = 100


def job_folder(number: int, overrides: Iterable[str]) -> str:
    """`3`, `["model/attention=bahdanau", "seed=1"]` → `3_attention-bahdanau_seed-1`.

    The name contains only ASCII letters, digits, dot, minus and underscore, and at most 100 characters. It is therefore
    one folder for any values, and Hydra's command line accepts it unquoted, as in
    `ckpt_path=<folder>/checkpoints/best.ckpt`. The number makes it unique.
    """
    words = [str(number)]
    for override in overrides:
        key, _, value = override.partition("=")
        leaf = re.split("[/.]", key)[-1]
        words.append(re.sub("[^A-Za-z0-9._]+", "-", f"{leaf}={value}"))
    return "_".join(words)[:LONGEST].strip("-_.")


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

"""Expand a sweep's command line into jobs, and compose the configuration of each job."""

from collections.abc import Collection, Sequence
from pathlib import Path

from hydra.core.config_loader import ConfigLoader
from hydra.core.hydra_config import HydraConfig
from hydra.core.override_parser.overrides_parser import OverridesParser
from omegaconf import DictConfig, open_dict, read_write

from src.config.composition import without_hydra
from src.config.hydra_adapter import combinations
from src.config.keys import key_of
from src.sweep.jobs import Job, varying_overrides


def expand_combinations(overrides: Sequence[str], loader: ConfigLoader) -> list[list[str]]:
    """Return the overrides of each job: every combination of the values."""
    return combinations(OverridesParser.create(config_loader=loader).parse_overrides(list(overrides)))


class Composer:
    """Composes the configurations of jobs in the same way as Hydra's launchers.

    Args:
        master: the sweep's own configuration.

    Attributes:
        shared: overrides that all jobs share; the names of the jobs' folders omit them.
    """

    def __init__(self, loader: ConfigLoader, master: DictConfig) -> None:
        self.shared: Collection[str] = ()
        self.loader = loader
        self.master = master
        self._groups = set(loader.list_groups(""))

    def group_choices(self, overrides: Sequence[str]) -> tuple[str, ...]:
        """Return the overrides that choose config files."""
        keys = {override: key_of(override).partition("@")[0] for override in overrides}
        return tuple(override for override, key in keys.items() if "/" in key or key in self._groups)

    def compose(self, number: int, overrides: Sequence[str]) -> tuple[Job, DictConfig]:
        """Compose a job; return the job with its folder, and the configuration that the command receives.

        Raises:
            HydraException, OmegaConfBaseException: if the overrides cannot be applied.
        """
        cfg = self.loader.load_sweep_config(self.master, list(overrides))
        with read_write(cfg.hydra), open_dict(cfg.hydra):
            cfg.hydra.job.num, cfg.hydra.job.id = number, str(number)
            cfg.hydra.runtime.output_dir = str(Path(cfg.hydra.sweep.dir) / "job")  # a placeholder
            task = cfg.hydra.overrides.task
            cfg.hydra.overrides.task = varying_overrides(task, self.shared)
            folder = str(cfg.hydra.sweep.subdir)
            cfg.hydra.overrides.task = task
        HydraConfig.instance().set_config(cfg)  # for interpolations of ${hydra:…}
        return Job(number, list(overrides), folder), without_hydra(cfg)
